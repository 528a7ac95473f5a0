import { createHash } from 'node:crypto';
import { renameSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { buildSync } from 'esbuild';

const folder = fileURLToPath(new URL('../../node_modules/.cache/redsem-tests', import.meta.url));
const made = new Map<string, readonly string[]>();

/**
 * The arguments with which Node.js runs a TypeScript file of this project: one plain JavaScript
 * file, made in each test process. A process that compiles for itself uses five times the processor
 * time until it has started. Only coverage wants the sources themselves.
 */
export function programOf(source: string): readonly string[] {
  const compiling = process.env['NODE_V8_COVERAGE'] !== undefined;
  const words = made.get(source) ?? (compiling ? sourcesOf(source) : [bundle(source)]);
  made.set(source, words);
  return words;
}

/** The same from the sources: for what builds its own files, as the page of the web view. */
export function sourcesOf(source: string): readonly string[] {
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
  return ['--import', tsx, source];
}

function bundle(source: string): string {
  const name = createHash('sha1').update(source).digest('hex').slice(0, 16);
  const [mine, shared] = [join(folder, `${name}-${process.pid}.mjs`), join(folder, `${name}.mjs`)];
  buildSync({
    entryPoints: [source],
    outfile: mine,
    bundle: true,
    packages: 'external',
    external: ['../../web/*'],
    platform: 'node',
    target: 'node20',
    format: 'esm',
    define: { 'import.meta.url': JSON.stringify(pathToFileURL(source).href) },
    logLevel: 'error',
  });
  // Other test processes may be starting it.
  renameSync(mine, shared);
  return shared;
}
