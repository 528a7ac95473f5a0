import { basename } from 'node:path';
import { expect } from 'chai';
import { describeStarted, noServer } from '../../test/support/require-server.js';
import { ROOT } from '../../test/tooling/run-program.js';
import { modulesOf, needPackages } from '../package/folder-packages.js';
import { clientPackages, readPages, samplesOf } from './markdown-samples.js';
import { OWN_SERVERS, type ReaderProjects, startReaderProjects } from './reader-projects.js';

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

/** Other packages of the repository that samples import. */
const PACKAGES =
  '@types/node @opentelemetry/api @opentelemetry/sdk-trace-base sinon @types/sinon'.split(' ');

const SUITE = 'samples in the README and the docs, pasted into an empty project';
const start = (): Promise<ReaderProjects> => startReaderProjects(PACKAGES);

describeStarted(SUITE, noServer(), start, (projects) => {
  it('are there, the first by line 15 of the README of 200 lines, and each says what it prints', () => {
    expect(readme.split('\n').indexOf('```ts')).to.be.within(0, 14);
    expect(readme.split('\n').length).to.be.at.most(201);
    const all = [...samples, ...recipes];
    expect(all).to.have.length.above(40);
    for (const { title, output } of all) expect(output, title).to.be.a('string');
    const [redis, ioredis] = clientPackages.map((name) =>
      all.filter(({ client }) => client === name),
    );
    expect(redis).to.have.length.above(20);
    expect(ioredis).to.have.length(redis?.length ?? 0);
  });

  it('differ between the clients by the three lines that the README shows', () => {
    const [, shown = ''] = /^```js\n(.*?)^```$/ms.exec(readme) ?? [];
    const [first, other] = samples.filter(({ title }) => title.startsWith('README.md, sample 1'));
    const before = new Set(first?.code.split('\n'));
    const changed = other?.code.split('\n').filter((line) => !before.has(line));
    const lines = shown.replaceAll(/ +\/\/.*/g, '').trim();
    expect(lines.split('\n')).to.deep.equal(changed);
  });

  it('say what they need beside redsem, a client and a server on localhost', () => {
    for (const page of pages) {
      for (const { title, code, packages } of samplesOf(page)) {
        for (const name of packages)
          expect(page.text, title).to.match(new RegExp(`npm install [^\n\`]*${name}\\b`));
        if (/redis:\/\/[abc]:/.test(code)) expect(page.text, title).to.contain('three servers');
      }
    }
  });

  it('are run with the package that the README packs in a clone', () => {
    const tarball = basename(projects().all[0]?.tarball ?? '');
    expect(readme).to.contain('**not published yet**').and.contain(`../redsem/${tarball}`);
  });

  it('compile in a strict project, with the tables of the page on migrating', async () => {
    for (const [i, sample] of samples.entries())
      await projects().of(sample).write(`sample-${i}.mts`, sample.code);
    await projects().all[0]?.write('migration.mts', migrationLines());
    for (const project of projects().all) await project.compile(['*.mts'], OPTIONS);
  });

  it('begin with programs that plain Node.js runs, by the names and commands of their pages', async () => {
    for (const [path, file] of [
      ['README.md', 'reports.mjs'],
      ['docs/getting-started.md', 'worker.mjs'],
    ] as const) {
      expect(textOf(path)).to.contain(`\`${file}\``).and.to.contain(`node ${file}`);
      for (const sample of samples.filter(({ title }) => title.startsWith(`${path}, sample 1`))) {
        await projects().of(sample).write(file, sample.code);
        const command = [process.execPath, '--import', OWN_SERVERS];
        const result = await projects().run(sample, file, command);
        expect(result, sample.title).to.include({ code: 0, stdout: sample.output, stderr: '' });
      }
    }
  });

  for (const [i, sample] of samples.entries()) {
    it(`print what they say: ${sample.title}`, async () => {
      const { stdout, ...result } = await projects().run(sample, `sample-${i}.mts`);
      expect(result).to.deep.equal({ code: 0, signal: null, stderr: '' });
      expect(stdout).to.equal(sample.output);
    });
  }

  describe('of the recipes, with the real frameworks', () => {
    before('npm ci in docs/guides', async function () {
      await needPackages(this, 'docs/guides');
      for (const project of projects().all)
        await project.link('recipes/node_modules', modulesOf('docs/guides').slice(ROOT.length));
      for (const [i, recipe] of recipes.entries())
        await projects().of(recipe).write(`recipes/${i}.mts`, recipe.code);
    });

    it('compile in a strict project, and write out no shape of a framework', async () => {
      const packages =
        'express bullmq @nestjs/core @nestjs/testing @temporalio/activity effect'.split(' ');
      const shown = recipes.filter(({ title }) => !title.includes(', with '));
      packages.forEach((name, i) => expect(shown[i]?.code).to.include(` from '${name}';`));
      expect(shown).to.have.length(packages.length);
      for (const project of projects().all) await project.compile(['recipes'], OPTIONS);
    });

    for (const [i, recipe] of recipes.entries()) {
      it(`print what they say: ${recipe.title}`, async () => {
        const printed = { code: 0, stdout: recipe.output, stderr: '' };
        expect(await projects().run(recipe, `recipes/${i}.mts`)).to.include(printed);
      });
    }
  });
});
