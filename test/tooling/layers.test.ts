import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { type Import, importsOf } from './imports.js';
import { ROOT } from './run-program.js';

/** The files that may import a package. */
const PACKAGES: Readonly<Record<string, RegExp>> = {
  '@opentelemetry/api': /^otel\//,
  // What the page is built with; the package has the built page.
  esbuild: /^web\/page\/assets\.ts$/,
  uplot: /^web\/page\/app\//,
  redis: /^(?:cli|keeper)\//,
  ioredis: /^(?:cli|keeper)\//,
};

/** The folder of a file in the eyes of the rules, `root` for the files that users see. */
function roomOf(file: string): string {
  if (/^(?:arguments\/[a-z-]+|error-causes|errors|options|telemetry(?:-messages)?)\.ts$/.test(file))
    return 'common';
  if (!file.includes('/')) return 'root';
  const [room = '', inner = ''] = file.split('/');
  if (room !== 'backends') return room;
  if (inner.endsWith('.ts')) return 'port';
  return file.startsWith('backends/redis/adapters/') ? 'adapters' : inner;
}

const BELOW = ['core', 'port', 'time', 'common'];

/** Which room may import which: design §2. A room may always import its own files. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  common: ['port', 'time'],
  time: [],
  port: ['common', 'time'],
  core: ['port', 'time', 'common'],
  many: ['root', ...BELOW],
  root: ['many', ...BELOW, 'memory', 'redis', 'quorum', 'adapters'],
  memory: ['port', 'time', 'common'],
  redis: ['port', 'time', 'common'],
  adapters: [],
  quorum: ['port', 'time', 'common', 'redis'],
  keeper: [...BELOW, 'redis', 'adapters'],
  otel: ['root', 'common'],
  sampler: ['root', 'common', 'port', 'time'],
  web: ['sampler', 'root', 'common', 'port', 'time'],
  cli: ['root', 'common', 'port', 'sampler', 'web'],
};

const isFile = (to: string): boolean => to.endsWith('.ts') && !to.startsWith('node:');

const RULES: Readonly<Record<string, (...one: Import) => boolean>> = {
  'a room imports only the rooms below it': (from, to) =>
    !isFile(to) ||
    to === 'backends/redis/connection.ts' ||
    // The nodes of a quorum are called by the same batcher as a semaphore's backend.
    (to === 'core/batcher.ts' && roomOf(from) === 'quorum') ||
    // A keeper's thread begins with this file, as a program does with index.ts: the client that a
    // user's module gives there is recognized as any other.
    (to === 'clients.ts' && from === 'keeper/worker.ts') ||
    roomOf(from) === roomOf(to) ||
    MAY_IMPORT[roomOf(from)]?.includes(roomOf(to)) === true,
  'only clients.ts and index.ts know which backends there are': (from, to) =>
    !['root', 'many'].includes(roomOf(from)) ||
    ['clients.ts', 'index.ts'].includes(from) ||
    !['memory', 'redis', 'quorum', 'adapters'].includes(roomOf(to)),
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
