import { createHash } from 'node:crypto';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type BuildOptions, buildSync } from 'esbuild';

import { makeTemporaryFolder } from './temporary-folder.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = join(root, 'node_modules/.cache/redsem-tests');
const made = new Map<string, readonly string[]>();

const plain = {
  packages: 'external',
  platform: 'node',
  target: 'node20',
  format: 'esm',
  logLevel: 'error',
  absWorkingDir: root,
} satisfies BuildOptions;

/**
 * The arguments with which Node.js runs a TypeScript file of this project: one plain JavaScript
 * file, made in each test process. A process that compiles for itself uses five times the processor
 * time until it has started. Only coverage wants the sources themselves.
 */
export function programOf(source: string): readonly string[] {
  return madeOnce(source, () => [bundle(source)]);
}

/** The same as a file beside the files that it imports; it starts the file `thread` as a thread. */
export function programWithThread(source: string, thread: string): readonly string[] {
  const loader = new URL('typescript.mjs', import.meta.url).href;
  return madeOnce(source, () => [tree(source, thread)], ['--import', loader, source]);
}

/** The same from the sources, for a program that builds files: `redsem web`. */
export function sourcesOf(source: string): readonly string[] {
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
  return ['--import', tsx, source];
}

function madeOnce(
  source: string,
  make: () => readonly string[],
  sources: readonly string[] = sourcesOf(source),
): readonly string[] {
  // A benchmark measures the program of users, also where coverage is counted.
  const isMeasured = source.startsWith(join(root, 'benchmarks'));
  const compiling = process.env['NODE_V8_COVERAGE'] !== undefined && !isMeasured;
  const words = made.get(source) ?? (compiling ? sources : make());
  made.set(source, words);
  return words;
}

function bundle(source: string): string {
  const name = createHash('sha1').update(source).digest('hex').slice(0, 16);
  const [mine, shared] = [join(folder, `${name}-${process.pid}.mjs`), join(folder, `${name}.mjs`)];
  buildSync({
    ...plain,
    entryPoints: [source],
    outfile: mine,
    bundle: true,
    external: ['../../web/*'],
    define: { 'import.meta.url': JSON.stringify(pathToFileURL(source).href) },
  });
  // Other test processes may be starting it.
  renameSync(mine, shared);
  return shared;
}

function tree(...sources: [string, string]): string {
  const seen = { bundle: true, write: false, metafile: true, outdir: folder } as const;
  const { metafile } = buildSync({ ...plain, ...seen, entryPoints: sources });
  mkdirSync(folder, { recursive: true });
  const outdir = makeTemporaryFolder(folder);
  buildSync({ ...plain, entryPoints: Object.keys(metafile.inputs), outdir, outbase: root });
  writeFileSync(join(outdir, 'package.json'), '{ "type": "module" }');
  return join(outdir, relative(root, sources[0]).replace(/\.ts$/, '.js'));
}
