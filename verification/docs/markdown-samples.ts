import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from '../../test/tooling/run-program.js';

export interface Sample {
  /** Page and place, as in `docs/guides/cron.md, sample 2`. */
  readonly title: string;
  /** The test's own server put in where a reader would have one on localhost. */
  readonly code: string;
  /** What it prints, as the page says in the `text` block that follows. */
  readonly output: string | undefined;
}

export interface Page {
  /** From the root of the repository. */
  readonly path: string;
  readonly text: string;
}

/** All pages under docs. */
export async function readPages(): Promise<Page[]> {
  const paths = (await pathsUnder('docs')).toSorted();
  return Promise.all(
    paths.map(async (path) => ({ path, text: await readFile(join(ROOT, path), 'utf8') })),
  );
}

/** Never looks into node_modules: another test file may be installing there, and a folder that vanishes is an error. */
async function pathsUnder(folder: string): Promise<string[]> {
  const entries = await readdir(join(ROOT, folder), { withFileTypes: true });
  const own = entries.filter(({ name }) => name !== 'node_modules');
  const lists = own.map(async (entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return pathsUnder(path);
    return path.endsWith('.md') ? [path] : [];
  });
  return (await Promise.all(lists)).flat();
}

export function samplesOf({ path, text }: Page): Sample[] {
  const blocks = text.matchAll(/^```ts\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?/gms);
  return [...blocks].map(([, code = '', output], i) => {
    const connected = code
      .replaceAll('createClient()', "createClient({ url: process.env['REDIS_URL'] ?? '' })")
      .replaceAll("'redis://localhost:6379'", "process.env['REDIS_URL'] ?? ''")
      .replaceAll('new Redis()', "new Redis(process.env['REDIS_URL'] ?? '')");
    return { title: `${path}, sample ${i + 1}`, code: connected, output };
  });
}
