import { expect } from 'chai';
import { createClient } from 'redis';
import { Semaphore } from '../../src/index.js';
import { INSTALL_TIMEOUT, modulesOf, needPackages } from '../package/folder-packages.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { readPages, samplesOf } from './markdown-samples.js';
import { EXPRESS_PROBE_OUTPUT, expressProbe, nestProbe } from './recipe-probes.js';
import { type Output, runTypeScript } from './run-typescript.js';
import { SampleProject } from './sample-project.js';

const FOLDER = 'docs/guides';
const TIMEOUT = 120_000;

const pages = await readPages();
const samples = pages.filter(({ path }) => path === 'docs/guides/recipes.md').flatMap(samplesOf);
const [express, , nest] = samples.map(({ code }) => code);
const files = new Map(samples.map(({ code }, i) => [`recipe-${i}.ts`, code]));
files.set('express-probe.ts', expressProbe(express ?? ''));
files.set('nest-probe.ts', nestProbe(nest ?? ''));

describeWithServer('recipes with the real frameworks', (server) => {
  const project = new SampleProject({ modules: modulesOf(FOLDER) });

  before('npm ci in docs/guides', async function () {
    this.timeout(2 * INSTALL_TIMEOUT + 10_000);
    await needPackages(this, FOLDER);
    await project.prepare(files);
  });
  after(() => project.remove());

  const run = (file: string): Promise<Output> => {
    const { directory: cwd, tsconfig } = project;
    const redisUrl = server().url;
    return runTypeScript({ file: project.pathOf(file), tsconfig, cwd, redisUrl });
  };

  it('are there, and write out no shape of a framework', () => {
    const packages = ['express', 'bullmq', '@nestjs/core', '@nestjs/testing'];
    expect(samples).to.have.length(packages.length);
    packages.forEach((name, i) => expect(samples[i]?.code).to.include(` from '${name}';`));
    for (const { title, output } of samples) expect(output, title).to.be.a('string');
  });

  it('compile in a strict project', () => project.compile()).timeout(TIMEOUT);

  samples.forEach(({ title, output }, i) => {
    it(`print what they say: ${title}`, async () => {
      expect(await run(`recipe-${i}.ts`)).to.deep.equal({
        exitCode: 0,
        stdout: output,
        stderr: '',
      });
    }).timeout(TIMEOUT);
  });

  it('Express: who leaves neither waits nor holds on, and a lost permit ends the answer', async () => {
    const expected = { exitCode: 0, stdout: EXPRESS_PROBE_OUTPUT, stderr: '' };
    expect(await run('express-probe.ts')).to.deep.equal(expected);
  }).timeout(TIMEOUT);

  it('NestJS: on SIGTERM the permits are given back before the process ends', async () => {
    const { stdout, stderr } = await run('nest-probe.ts');
    expect({ stdout, stderr }).to.deep.equal({
      stdout: '200 sales written in slot 0\nholds slot 0\n',
      stderr: '',
    });
    const client = await createClient({ url: server().url }).connect();
    try {
      const state = await new Semaphore(client, 'nest-reports', { limit: 3 }).inspect();
      expect(state.held).to.equal(0);
    } finally {
      await client.close();
    }
  }).timeout(TIMEOUT);
});
