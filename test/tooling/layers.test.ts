import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { expect } from 'chai';
import { ROOT } from './run-program.js';

/** A file and what it imports: paths from src ending in `.ts`, packages as they are written. */
type Import = readonly [from: string, to: string];

const IMPORT =
  /(?:^|[\s;])(?:import|export)\s(?:[^'";]*?\sfrom\s*)?['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]/g;

const entries = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' });
const files = entries.map((entry) => entry.replaceAll('\\', '/'));
const imports = files.filter((file) => file.endsWith('.ts')).flatMap(importsOf);

function importsOf(from: string): Import[] {
  const source = readFileSync(join(ROOT, 'src', from), 'utf8');
  return [...source.matchAll(IMPORT)].map(([, fixed, dynamic]) => {
    const specifier = fixed ?? dynamic ?? '';
    if (!specifier.startsWith('.')) return [from, specifier];
    return [from, posix.join(dirname(from), specifier).replace(/\.js$/, '.ts')];
  });
}

/** The files that may import a package. */
const PACKAGES: Readonly<Record<string, RegExp>> = {
  '@opentelemetry/api': /^otel\//,
  // It builds the page; the package has the built page.
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
  for (const [title, allows] of Object.entries(RULES)) {
    it(title, () => expect(imports.filter((one) => !allows(...one))).to.deep.equal([]));
  }
});

/** A line of a drawing: its depth, its file, and whether it is a port of the files below it. */
function stepOf(line: string) {
  const file = line.trim().replace(/^port /, '');
  return { depth: line.search(/\S/), file, isPort: line.trim().startsWith('port ') };
}

type Step = ReturnType<typeof stepOf>;

/** The step above a step imports it, or a step under a port imports the port. */
function isRight(step: Step, above: Step | undefined): boolean {
  if (above === undefined) return imports.some(([from]) => from === step.file);
  const [user, used] = above.isPort ? [step.file, above.file] : [above.file, step.file];
  return imports.some(([from, to]) => from === user && to === used);
}

it('the architecture page draws the ways of three calls as the files import each other, in 12, 9 and 9 files at most', () => {
  const page = readFileSync(join(ROOT, 'docs/explanation/architecture.md'), 'utf8');
  const walks = [...page.matchAll(/^```walk (\S+)\n([^`]*)^```/gm)];
  expect(walks.map(([, name]) => name).join()).to.equal('acquire,release,extension');
  for (const [i, [, name, lines = '']] of walks.entries()) {
    const steps = lines.trimEnd().split('\n').map(stepOf);
    expect(steps.filter(({ isPort }) => !isPort)).to.have.length.at.most([12, 9, 9][i] ?? 0);
    const wrong = steps.filter((step, at) => {
      return !isRight(
        step,
        steps.slice(0, at).findLast(({ depth }) => depth < step.depth),
      );
    });
    expect(wrong, name).to.deep.equal([]);
  }
});
