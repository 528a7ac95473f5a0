import { access } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { ROOT } from '../../test/tooling/run-program.js';
import { describeWithServer } from '../../test/support/require-server.js';
import type { Page, Sample } from './markdown-samples.js';
import { readPages, samplesOf } from './markdown-samples.js';
import { runTypeScript } from './run-typescript.js';
import { SampleProject } from './sample-project.js';

const TIMEOUT = 120_000;

const pages = await readPages();
// The recipes need packages of their own: recipes.test.ts.
const samples = pages.filter(({ path }) => path !== 'docs/guides/recipes.md').flatMap(samplesOf);
const fileOf = (sample: Sample): string => `sample-${samples.indexOf(sample)}.ts`;

describeWithServer('samples in the guides', (server) => {
  const project = new SampleProject();

  before(() => project.prepare(new Map(samples.map((sample) => [fileOf(sample), sample.code]))));
  after(() => project.remove());

  it('are there, and each says what it prints', () => {
    expect(samples).to.have.length.above(14);
    const ours = samples.filter(({ title }) => title.startsWith('docs/guides/'));
    for (const { title, output } of ours) expect(output, title).to.be.a('string');
  });

  it('compile in a strict project', () => project.compile()).timeout(TIMEOUT);

  for (const sample of samples) {
    it(`print what they say: ${sample.title}`, async () => {
      const { directory: cwd, tsconfig } = project;
      const program = {
        file: project.pathOf(fileOf(sample)),
        tsconfig,
        cwd,
        redisUrl: server().url,
      };
      const { exitCode, stdout, stderr } = await runTypeScript(program);
      expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' });
      if (sample.output !== undefined) expect(stdout).to.equal(sample.output);
    }).timeout(TIMEOUT);
  }
});

describe('links in the docs', () => {
  const exists = (path: string): Promise<boolean> =>
    access(path).then(
      () => true,
      () => false,
    );

  /** Relative links, and files that are named in backquotes. */
  function pathsIn({ path, text }: Page): string[] {
    const links = [...text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)].map(([, link = '']) => link);
    const relative = links.filter((link) => !/^[a-z]+:/.test(link));
    const named = [
      ...text.matchAll(/`((?:test|verification|src|examples|benchmarks)\/[\w./-]+)`/g),
    ];
    return [
      ...relative.map((link) => join(ROOT, dirname(path), link)),
      ...named.map(([, file = '']) => join(ROOT, file)),
    ];
  }

  // Its left column names files that are gone; `test/tooling/proof-table.test.ts` looks at the others.
  const table = 'docs/proof/where-each-promise-is-proven.md';
  for (const page of pages.filter(({ path }) => path !== table)) {
    it(`lead to files that are there: ${page.path}`, async () => {
      const missing: string[] = [];
      for (const path of pathsIn(page)) if (!(await exists(path))) missing.push(path);
      expect(missing).to.deep.equal([]);
    });
  }
});
