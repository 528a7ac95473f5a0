import { buildSync } from 'esbuild';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

export type AssetName = 'index.html' | 'style.css' | 'app.js';

/**
 * The files of the page. A run from source builds them here, when this module is loaded. The
 * package has their text in this module's place: see scripts/embed-page.mjs.
 */
export const pageAssets: Readonly<Record<AssetName, string>> = {
  'index.html': withoutIndents(readFileSync(new URL('index.html', import.meta.url), 'utf8')),
  'style.css': bundle('style.css'),
  'app.js': bundle('app/main.ts'),
};

/**
 * The chart library is in the script, so its license must come with the package.
 * @internal
 */
export function chartLicense(): string {
  return readChart('LICENSE');
}

function readChart(file: string): string {
  const require = createRequire(import.meta.url);
  return readFileSync(require.resolve(`uplot/${file}`), 'utf8');
}

function withoutIndents(html: string): string {
  return html.replaceAll(/^ +/gm, '');
}

function bundle(entry: string): string {
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(new URL(entry, import.meta.url))],
    bundle: true,
    minify: true,
    format: 'esm',
    target: ['chrome123', 'firefox125', 'safari17.5'],
    // Its own minified form is a kilobyte smaller than what esbuild makes of its source.
    banner: entry.endsWith('.ts') ? { js: readChart('dist/uPlot.iife.min.js') } : {},
    write: false,
    logLevel: 'error',
  });
  return outputFiles.map(({ text }) => text).join('');
}
