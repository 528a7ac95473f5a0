import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { describeWithServer } from '../../test/support/require-server.js';
import { type ProgramResult, ROOT, runProgram } from '../../test/tooling/run-program.js';
import { modulesOf, needPackages } from '../package/folder-packages.js';
import { PackedProject } from '../package/packed-project.js';
import { readPages, samplesOf } from './markdown-samples.js';

const RECIPES = 'docs/guides/recipes.md';
const pages = readPages();
const readme = pages.find(({ path }) => path === 'README.md')?.text ?? '';
const samples = pages.filter(({ path }) => path !== RECIPES).flatMap(samplesOf);
const recipes = pages.filter(({ path }) => path === RECIPES).flatMap(samplesOf);

/** What the samples of the README print, one after the other. */
const README_OUTPUT = [
  /^$/,
  /^encoding in slot 0\n$/,
  /^42\n0 \d{16}\nours\n\[ 0, 1 \]\n[^]*held: 0/,
  /^stalled: stale token\n$/,
  /^\[ 'alice', 'bob' \] true\ntrue\n\{ ran: true, result: 'done' \}\n\[ \[ 0, 1 \], \[ 0 \] \]\n$/,
  /^done\nfalse\ntrue true\n4 \[ 'exporter-1 0' \]\n(?:revoked\ntrue|true\nrevoked)\n$/,
  /^stalled: stale token in slot 0\n$/,
  /^encoding in slot 0\n$/,
  /^encoding in slot 0\n$/,
  /^lost a permit of reports: revoked\n$/,
  /^true false\nfalse\ntrue\n$/,
];

/** Each piece of code in the right column of "Coming from …", as a statement of its own. */
function migrationLines(): string {
  const table = readme.slice(readme.indexOf('\n## Coming from'), readme.indexOf('\n## Fencing'));
  const cells = [...table.matchAll(/^\|[^|\n]*\|([^|\n]*)\|$/gm)].map(([, cell = '']) => cell);
  const pieces = cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code));
  expect(pieces).to.have.length.above(12);
  return [
    `import { KeyedMutex, Mutex, Semaphore, type Handle, type HandleData, type RedisConnection } from 'redsem';`,
    'declare const client: RedisConnection, a: typeof client, b: typeof client, c: typeof client;',
    'declare const sem: Semaphore, mutex: Mutex, handle: Handle, data: HandleData;',
    ...pieces.map((code) => `{ ${code?.replaceAll('=> …', '=> undefined')}; }`),
  ].join('\n');
}

/** As readers have it, who paste samples. */
const OPTIONS = {
  lib: ['es2023', 'es2024.string', 'esnext.disposable'],
  exactOptionalPropertyTypes: false,
  noUncheckedIndexedAccess: false,
  skipLibCheck: true,
  experimentalDecorators: true, // as NestJS needs
};

describeWithServer('samples in the README and the docs, with the packed package', (server) => {
  let project: PackedProject;

  before(async () => {
    const packages = ['redis', 'ioredis', '@types/node', '@opentelemetry/api'];
    project = await PackedProject.create([...packages, '@opentelemetry/sdk-trace-base']);
  });

  after(() => project?.remove());

  function run(file: string): Promise<ProgramResult> {
    const env = { REDIS_URL: server().url, NODE_OPTIONS: '' };
    const tsx = import.meta.resolve('tsx');
    return runProgram([process.execPath, '--import', tsx, file], { env, cwd: project.directory });
  }

  it('are there, the first by line 15 of the README, and each guide says what it prints', () => {
    expect(readme.split('\n').indexOf('```ts')).to.be.within(0, 14);
    expect(samples.filter(({ title }) => title.startsWith('README'))).to.have.length(
      README_OUTPUT.length,
    );
    const guides = [...samples, ...recipes].filter(({ title }) => title.startsWith('docs/guides/'));
    expect(guides).to.have.length.above(14);
    for (const { title, output } of guides) expect(output, title).to.be.a('string');
  });

  it('compile in a strict project, with the table of "Coming from"', async () => {
    for (const [i, { code }] of samples.entries()) await project.write(`samples/${i}.ts`, code);
    await project.write('samples/migration.ts', migrationLines());
    await project.compile(['samples'], OPTIONS);
  });

  for (const [i, { title, output }] of samples.entries()) {
    it(`print what they say: ${title}`, async () => {
      const { stdout, ...result } = await run(`samples/${i}.ts`);
      expect(result).to.deep.equal({ code: 0, signal: null, stderr: '' });
      const number = title.startsWith('README') ? Number(/\d+$/.exec(title)?.[0]) : 0;
      if (number > 0) expect(stdout).to.match(README_OUTPUT[number - 1] ?? /^never$/);
      else if (output !== undefined) expect(stdout).to.equal(output);
    });
  }

  describe('of the recipes, with the real frameworks', () => {
    before('npm ci in docs/guides', async function () {
      await needPackages(this, 'docs/guides');
      await project.link('recipes/node_modules', modulesOf('docs/guides').slice(ROOT.length));
      for (const [i, { code }] of recipes.entries()) await project.write(`recipes/${i}.ts`, code);
    });

    it('compile in a strict project, and write out no shape of a framework', async () => {
      const packages = ['express', 'bullmq', '@nestjs/core', '@nestjs/testing'];
      packages.forEach((name, i) => expect(recipes[i]?.code).to.include(` from '${name}';`));
      expect(recipes).to.have.length(packages.length);
      await project.compile(['recipes'], OPTIONS);
    });

    for (const [i, { title, output }] of recipes.entries()) {
      it(`print what they say: ${title}`, async () => {
        expect(await run(`recipes/${i}.ts`)).to.include({ code: 0, stdout: output, stderr: '' });
      });
    }
  });
});

it('links in the docs, and files that are named in backquotes, lead to files that are there', () => {
  // Its left column names files that are gone; test/tooling looks at the others.
  const table = 'docs/evidence/where-each-promise-is-proven.md';
  const missing = pages.flatMap(({ path, text }) => {
    if (path === table) return [];
    const links = [...text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)].map(([, link = '']) => link);
    const relative = links.filter((link) => !/^[a-z]+:/.test(link));
    const file = /`((?:test|verification|src|examples|benchmarks)\/[\w./-]+)`/g;
    const named = [...text.matchAll(file)].map(([, name = '']) => name);
    const paths = [...relative.map((link) => join(dirname(path), link)), ...named];
    return paths.filter((each) => !existsSync(join(ROOT, each))).map((each) => `${path}: ${each}`);
  });
  expect(missing).to.deep.equal([]);
});
