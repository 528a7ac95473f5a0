import { readdirSync, readFileSync } from 'node:fs';
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

/** All pages under docs, and the README. */
export function readPages(): Page[] {
  const entries = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' });
  const pages = entries.filter((path) => path.endsWith('.md') && !path.includes('node_modules'));
  const paths = ['README.md', ...pages.map((path) => `docs/${path.replaceAll('\\', '/')}`)];
  return paths.toSorted().map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));
}

export function samplesOf({ path, text }: Page): Sample[] {
  const blocks = text.matchAll(/^```ts\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?/gms);
  return [...blocks].map(([, code = '', output], i) => {
    const connected = code
      // Databases of one server are apart as servers are.
      .replaceAll(/'redis:\/\/([abc]):6379'/g, (_, host: string) => {
        return `\`\${process.env['REDIS_URL']}/${'abc'.indexOf(host)}\``;
      })
      .replaceAll('createClient()', "createClient({ url: process.env['REDIS_URL'] ?? '' })")
      .replaceAll("'redis://localhost:6379'", "process.env['REDIS_URL'] ?? ''")
      .replaceAll('new Redis()', "new Redis(process.env['REDIS_URL'] ?? '')");
    return { title: `${path}, sample ${i + 1}`, code: connected, output };
  });
}
