import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../test/tooling/run-program.js';

export const clientPackages = ['redis', 'ioredis'] as const;

export type ClientPackage = (typeof clientPackages)[number];

export interface Sample {
  /** Page and place, as in `docs/guides/cron.md, sample 2`. */
  readonly title: string;
  /** Letter for letter as the page has it, or with the other client. */
  readonly code: string;
  /** The client package that it imports; a sample without a client needs none. */
  readonly client: ClientPackage | undefined;
  /** Its output, from the `text` block that follows it. */
  readonly output: string | undefined;
  /** The packages that it imports beside redsem and its client. */
  readonly packages: readonly string[];
}

export interface Page {
  /** From the root of the repository. */
  readonly path: string;
  readonly text: string;
}

const BESIDE_DOCS =
  'README.md CONTRIBUTING.md SECURITY.md examples/README.md benchmarks/README.md verification/formal/README.md';

/** All pages in docs, and pages that they link to or that link to them. */
export function readPages(): Page[] {
  const entries = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' });
  const pages = entries.filter((path) => path.endsWith('.md') && !/node_modules|html/.test(path));
  const docs = pages.map((path) => `docs/${path.replaceAll('\\', '/')}`);
  const paths = [...BESIDE_DOCS.split(' '), ...docs];
  return paths.toSorted().map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));
}

/** A sample that makes a client is there twice, once for each client. */
export function samplesOf({ path, text }: Page): Sample[] {
  const blocks = text.matchAll(/^```ts\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?/gms);
  return [...blocks].flatMap(([, code = '', output], i) => {
    const title = `${path}, sample ${i + 1}`;
    const client = clientPackages.find((name) => code.includes(`from '${name}';`));
    const sample = { title, code, client, output, packages: packagesOf(code) };
    if (client === undefined) return [sample];
    const other = client === 'redis' ? 'ioredis' : 'redis';
    const swapped = { code: withClient(other, code), client: other } as const;
    return [sample, { ...sample, ...swapped, title: `${title}, with ${other}` }];
  });
}

function packagesOf(code: string): string[] {
  const imports = [...code.matchAll(/(?:from|import) '((?:@[\w-]+\/)?[\w-]+)[\w/-]*';/g)];
  const names = imports.map(([, name = '']) => name);
  const known = ['node', 'redsem', ...clientPackages];
  return names.filter((name) => !known.includes(name));
}

/** Replaces the lines that differ between the clients, as the README says. */
function withClient(client: ClientPackage, code: string): string {
  if (client === 'ioredis') {
    return code
      .replace("import { createClient } from 'redis';", "import { Redis } from 'ioredis';")
      .replaceAll(
        /(?:await )?createClient\((.*?)\)\.on\('error', console\.error\)\.connect\(\)/g,
        (_, options: string) => `new Redis(${inner(options)}).on('error', console.error)`,
      )
      .replaceAll('client.close()', 'client.quit()')
      .replaceAll(
        "{ redis: { url: 'redis://localhost:6379' } }",
        "{ ioredis: { host: 'localhost' } }",
      )
      .replaceAll(/^( *).+\n *\/\/ ioredis: (.+)$/gm, '$1$2');
  }
  return code
    .replace("import { Redis } from 'ioredis';", "import { createClient } from 'redis';")
    .replaceAll(
      /(= )?new Redis\((\w*)\)\.on\('error', console\.error\)/g,
      (_, assigned: string | undefined, url: string) => {
        const made = `createClient(${url === '' ? '' : `{ ${url} }`}).on('error', console.error)`;
        return `${assigned === undefined ? '' : '= await '}${made}.connect()`;
      },
    )
    .replaceAll('client.quit()', 'client.close()');
}

/** `url` of `{ url }`. */
function inner(options: string): string {
  return options.replace(/^\{ (\w+) \}$/, '$1');
}
