import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';
import { expect } from 'chai';
import { ROOT } from './run-program.js';

interface Import {
  /** Path of the importing file from src, with forward slashes. */
  readonly from: string;
  /** What is imported: a path from src ending in `.ts` for relative imports, else as written. */
  readonly to: string;
}

const IMPORT =
  /(?:^|[\s;])(?:import|export)\s(?:[^'";]*?\sfrom\s*)?['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]/g;

function importsOf(from: string, source: string): Import[] {
  return [...source.matchAll(IMPORT)].map((match) => {
    const specifier = match[1] ?? match[2] ?? '';
    if (!specifier.startsWith('.')) return { from, to: specifier };
    const target = posix.join(dirname(from), specifier).replace(/\.js$/, '.ts');
    return { from, to: target };
  });
}

async function readImports(): Promise<Import[]> {
  const src = join(ROOT, 'src');
  const entries = await readdir(src, { recursive: true });
  const files = entries.map((entry) => entry.replaceAll('\\', '/'));
  const sources = files.filter((file) => file.endsWith('.ts'));
  const imports = await Promise.all(
    sources.map(async (file) => importsOf(file, await readFile(join(src, file), 'utf8'))),
  );
  return imports.flat();
}

/** Who may import which package. */
const PACKAGES: readonly [from: RegExp, to: string][] = [
  [/^key-stripes\.ts$/, 'xxhash-wasm'],
  [/^otel\//, '@opentelemetry/api'],
  [/^cli\//, 'redis'],
  [/^cli\//, 'ioredis'],
];

function isCore(file: string): boolean {
  return !file.includes('/') || file.startsWith('memory/');
}

function show(imports: readonly Import[]): string[] {
  return imports.map(({ from, to }) => `${from} imports ${to}`);
}

describe('layers', () => {
  let imports: Import[];

  before(async () => {
    imports = await readImports();
  });

  it('are read off every form of import', () => {
    const source = [
      "import { a } from './a.js';",
      "import type {\n  B,\n} from '../b.js';",
      "export * from './c.js';",
      "import './d.js';",
      "const e = await import('./e.js');",
      "import { f } from 'node:events';",
    ].join('\n');
    expect(importsOf('x/y.ts', source).map(({ to }) => to)).to.deep.equal([
      'x/a.ts',
      'b.ts',
      'x/c.ts',
      'x/d.ts',
      'x/e.ts',
      'node:events',
    ]);
  });

  it('let an adapter import nothing but the connection port and other adapters', () => {
    const wrong = imports.filter(
      ({ from, to }) =>
        from.startsWith('redis/adapters/') &&
        to !== 'redis/connection.ts' &&
        !to.startsWith('redis/adapters/'),
    );
    expect(show(wrong)).to.deep.equal([]);
  });

  it('keep the core and the memory backend free of Redis', () => {
    const doors = ['index.ts', 'targets.ts'];
    const wrong = imports.filter(
      ({ from, to }) => isCore(from) && !doors.includes(from) && to.startsWith('redis/'),
    );
    expect(show(wrong)).to.deep.equal([]);
  });

  it('keep the command line and telemetry out of the library', () => {
    const own = (file: string): boolean => /^(?:cli|otel)\//.test(file);
    const wrong = imports.filter(({ from, to }) => !own(from) && own(to));
    expect(show(wrong)).to.deep.equal([]);
  });

  it('keep other packages out of src, but where they are needed', () => {
    const wrong = imports.filter(
      ({ from, to }) =>
        !to.startsWith('node:') &&
        !to.endsWith('.ts') &&
        !PACKAGES.some(([who, what]) => who.test(from) && what === to),
    );
    expect(show(wrong)).to.deep.equal([]);
  });
});
