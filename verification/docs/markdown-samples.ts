import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../test/tooling/run-program.js';

export interface Sample {
  /** Page and place, as in `docs/guides/cron.md, sample 2`. */
  readonly title: string;
  /** The test's own server in place of the reader's on localhost. */
  readonly code: string;
  /** What it prints, from the `text` block that follows it. */
  readonly output: string | undefined;
}

export interface Page {
  /** From the root of the repository. */
  readonly path: string;
  readonly text: string;
}

const BESIDE_DOCS =
  'README.md CONTRIBUTING.md SECURITY.md examples/README.md benchmarks/README.md verification/formal/README.md';

/** All pages in docs, and those that they link to or that link to them. */
export function readPages(): Page[] {
  const entries = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' });
  const pages = entries.filter((path) => path.endsWith('.md') && !/node_modules|html/.test(path));
  const docs = pages.map((path) => `docs/${path.replaceAll('\\', '/')}`);
  const paths = [...BESIDE_DOCS.split(' '), ...docs];
  return paths.toSorted().map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));
}

export function samplesOf({ path, text }: Page): Sample[] {
  const blocks = text.matchAll(/^```ts\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?/gms);
  return [...blocks].flatMap(([, code = '', output], i) => {
    const title = `${path}, sample ${i + 1}`;
    const swapped = withOtherClient(code);
    const forms = [{ title, code }];
    if (swapped !== undefined) forms.push({ title: `${title}, other client`, code: swapped });
    return forms.map((form) => ({ ...form, code: connected(form.code), output }));
  });
}

/** The three lines of a sample that differ between the clients, as the README has them. */
const CLIENT_LINES = [
  ["import { createClient } from 'redis';", "import { Redis } from 'ioredis';"],
  [
    "await createClient().on('error', console.error).connect()",
    "new Redis().on('error', console.error)",
  ],
  ['await client.close();', 'await client.quit();'],
] as const;

/** Undefined for a sample that makes no client, or that uses its client in another way. */
function withOtherClient(code: string): string | undefined {
  const from = CLIENT_LINES.every(([nodeRedis]) => code.includes(nodeRedis)) ? 0 : 1;
  if (!CLIENT_LINES.every((lines) => code.includes(lines[from]))) return undefined;
  if (/\bclient\.(?!close\(|quit\(|on\()/.test(code)) return undefined;
  return CLIENT_LINES.reduce(
    (swapped, lines) => swapped.replaceAll(lines[from], lines[1 - from] ?? ''),
    code,
  );
}

function connected(code: string): string {
  return (
    code
      // Databases of one server are apart as servers are.
      .replaceAll(/'redis:\/\/([abc]):6379'/g, (_, host: string) => {
        return `\`\${process.env['REDIS_URL']}/${'abc'.indexOf(host)}\``;
      })
      .replaceAll('createClient()', "createClient({ url: process.env['REDIS_URL'] ?? '' })")
      .replaceAll("'redis://localhost:6379'", "process.env['REDIS_URL'] ?? ''")
      .replaceAll('new Redis()', "new Redis(process.env['REDIS_URL'] ?? '')")
      .replaceAll("'https://api.example.com/users/7'", "'data:application/json,7'")
  );
}
