import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { expect } from 'chai';
import { ROOT } from './run-program.js';

/** A file and what it imports: paths from src ending in `.ts`, packages as they are written. */
type Import = readonly [from: string, to: string];

const IMPORT =
  /(?:^|[\s;])(?:import|export)\s(?:[^'";]*?\sfrom\s*)?['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]/g;

function importsOf(from: string, source: string): Import[] {
  return [...source.matchAll(IMPORT)].map(([, fixed, dynamic]) => {
    const specifier = fixed ?? dynamic ?? '';
    if (!specifier.startsWith('.')) return [from, specifier];
    return [from, posix.join(dirname(from), specifier).replace(/\.js$/, '.ts')];
  });
}

/** The files that may import a package. */
const PACKAGES: Readonly<Record<string, RegExp>> = {
  'xxhash-wasm': /^many\/key-stripes\.ts$/,
  '@opentelemetry/api': /^otel\//,
  redis: /^cli\//,
  ioredis: /^cli\//,
};

const REDIS = 'backends/redis/';
const isCore = (file: string): boolean => !/^(?:backends\/(?:redis|quorum)|cli|otel)\//.test(file);
const isOuter = (file: string): boolean => /^(?:cli|otel)\//.test(file);

const RULES: Readonly<Record<string, (...one: Import) => boolean>> = {
  'an adapter imports nothing but the connection port and other adapters': (from, to) =>
    !from.startsWith(`${REDIS}adapters/`) ||
    to === `${REDIS}connection.ts` ||
    to.startsWith(`${REDIS}adapters/`),
  'the core and the memory backend are free of Redis': (from, to) =>
    !isCore(from) || ['index.ts', 'clients.ts'].includes(from) || !to.startsWith(REDIS),
  'the command line and telemetry are no part of the library': (from, to) =>
    isOuter(from) || !isOuter(to),
  'packages are imported only where they are needed': (from, to) =>
    /^node:|\.ts$/.test(to) || PACKAGES[to]?.test(from) === true,
};

describe('layers', () => {
  const entries = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' });
  const files = entries.map((entry) => entry.replaceAll('\\', '/'));
  const imports = files
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => importsOf(file, readFileSync(join(ROOT, 'src', file), 'utf8')));

  for (const [title, allows] of Object.entries(RULES)) {
    it(title, () => expect(imports.filter((one) => !allows(...one))).to.deep.equal([]));
  }
});
