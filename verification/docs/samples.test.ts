import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { describeWithServer } from '../../test/support/require-server.js';
import { type ProgramResult, ROOT, runProgram } from '../../test/tooling/run-program.js';
import { modulesOf, needPackages } from '../package/folder-packages.js';
import { PackedProject } from '../package/packed-project.js';
import { readPages, samplesOf } from './markdown-samples.js';
import { anchorsOf, deadLinks } from './page-links.js';

const RECIPES = 'docs/guides/recipes.md';
const pages = readPages();
const textOf = (path: string): string => pages.find((page) => page.path === path)?.text ?? '';
const readme = textOf('README.md');
const samples = pages.filter(({ path }) => path !== RECIPES).flatMap(samplesOf);
const recipes = pages.filter(({ path }) => path === RECIPES).flatMap(samplesOf);

/** Each piece of code in the right column of the tables of two columns, as a separate statement. */
function migrationLines(): string {
  const page = textOf('docs/guides/migrating.md');
  const cells = [...page.matchAll(/^\|[^|\n]*\|([^|\n]*)\|$/gm)].map(([, cell = '']) => cell);
  const pieces = cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code));
  const statements = pieces.filter((code) => /[(.]/.test(code ?? '') && code !== 'close()');
  expect(statements).to.have.length.above(30);
  return [
    `import { KeyedMutex, KeyedSemaphore, Mutex, Semaphore, type Handle, type HandleData, type RedisConnection } from 'redsem';`,
    'declare const client: RedisConnection, a: typeof client, b: typeof client, c: typeof client;',
    'declare const sem: Semaphore, keyed: KeyedSemaphore, mutex: Mutex, handle: Handle, data: HandleData;',
    'declare function work(): number;',
    'declare const fn: () => number;',
    ...statements.map((code) => `{ ${code?.replaceAll('=> …', '=> undefined')}; }`),
  ].join('\n');
}

/** As readers that paste samples have it. */
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
    const packages = [
      'redis',
      'ioredis',
      '@types/node',
      '@opentelemetry/api',
      'sinon',
      '@types/sinon',
    ];
    project = await PackedProject.create([...packages, '@opentelemetry/sdk-trace-base']);
    for (const [i, { code }] of samples.entries()) await project.write(`samples/${i}.ts`, code);
  });

  after(() => project?.remove());

  async function run(file: string): Promise<ProgramResult> {
    await server().command('FLUSHALL');
    const env = { REDIS_URL: server().url, NODE_OPTIONS: '' };
    const tsx = import.meta.resolve('tsx');
    return runProgram([process.execPath, '--import', tsx, file], { env, cwd: project.directory });
  }

  it('are there, the first by line 15 of the README of 200 lines, and each says what it prints', () => {
    expect(readme.split('\n').indexOf('```ts')).to.be.within(0, 14);
    expect(readme.split('\n').length).to.be.at.most(201);
    const all = [...samples, ...recipes];
    expect(all).to.have.length.above(40);
    for (const { title, output } of all) expect(output, title).to.be.a('string');
    const swapped = samples.filter(({ title }) => title.endsWith('other client'));
    expect(swapped).to.have.length.above(14);
  });

  it('compile in a strict project, with the tables of the page on migrating', async () => {
    await project.write('samples/migration.ts', migrationLines());
    await project.compile(['samples'], OPTIONS);
  });

  for (const [i, { title, output }] of samples.entries()) {
    it(`print what they say: ${title}`, async () => {
      const { stdout, ...result } = await run(`samples/${i}.ts`);
      expect(result).to.deep.equal({ code: 0, signal: null, stderr: '' });
      expect(stdout).to.equal(output);
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
      const shown = recipes.filter(({ title }) => !title.endsWith('other client'));
      packages.forEach((name, i) => expect(shown[i]?.code).to.include(` from '${name}';`));
      expect(shown).to.have.length(packages.length);
      await project.compile(['recipes'], OPTIONS);
    });

    for (const [i, { title, output }] of recipes.entries()) {
      it(`print what they say: ${title}`, async () => {
        expect(await run(`recipes/${i}.ts`)).to.include({ code: 0, stdout: output, stderr: '' });
      });
    }
  });
});

describe('links in the docs', () => {
  it('lead to files and headings that are there, and so do files named in backquotes', () => {
    expect(pages.flatMap(deadLinks)).to.deep.equal([]);
    const text = '[1](#errors) [2](#none) [3](none.md) [4](docs/faq.md#none) `src/none.ts`';
    const dead = ['#none', 'none.md', 'docs/faq.md#none', 'src/none.ts'];
    const path = 'README.md';
    expect(deadLinks({ path, text })).to.deep.equal(dead.map((each) => `${path}: ${each}`));
  });

  it('reach every error and warning code by an anchor, and every page from the README in two', () => {
    const errors = anchorsOf(textOf('docs/reference/errors.md'));
    const codes = 'acquire_timeout handle_lost backend quorum closed invalid_argument';
    const warnings =
      'backend_unreachable campaign_failed eviction limit_mismatch node_set release_failed stripes_mismatch';
    expect([...errors]).to.include.members([...codes.split(' '), ...warnings.split(' ')]);
    const near = new Set(linkedPages('README.md').flatMap((path) => [path, ...linkedPages(path)]));
    const far = pages.filter(({ path }) => path.startsWith('docs/') && !near.has(path));
    expect(far.map(({ path }) => path).filter((path) => !path.includes('/chaos/'))).to.deep.equal(
      [],
    );
  });
});

function linkedPages(from: string): string[] {
  const links = [...textOf(from).matchAll(/\]\(([^)#\s]+\.md)/g)].map(([, link = '']) => link);
  return links.map((link) => join(dirname(from), link));
}
