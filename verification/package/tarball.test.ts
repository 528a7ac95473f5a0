import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect } from 'chai';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { ROOT, runNode } from '../../test/tooling/run-program.js';
import {
  API_CONSUMER,
  CJS_CONSUMER,
  CJS_TYPES_CONSUMER,
  ESM_CONSUMER,
  JEST_CONSUMER,
} from './consumer-sources.js';
import { PackedProject, TSC } from './packed-project.js';

/**
 * ES modules, the same as CommonJS, the command line as one file; a fifth is docstrings, which
 * editors show; 100 kB are the page of the web view, half of it its charts.
 */
const UNPACKED_BUDGET = 1_800_000;
const BIN = join(ROOT, 'node_modules');

/** The compiler in attw, which still resolves as Node.js 10 did. */
const TSC_5 = createRequire(
  createRequire(import.meta.url).resolve('@arethetypeswrong/core'),
).resolve('typescript/bin/tsc');

describe('packed tarball', () => {
  let project: PackedProject;

  before(async () => {
    project = await PackedProject.create(['@types/node', '@opentelemetry/api']);
  });

  after(() => project?.remove());

  it('holds the build and the documents, and nothing else, within its budget', () => {
    const errors = 'docs/reference/errors.md';
    const documents = ['package.json', 'README.md', 'LICENSE', 'CHANGELOG.md', errors];
    const built =
      /^dist\/(?:[\w/-]+\.(?:js|d\.ts)(?:\.map)?|(?:backend|web\/node|(?:otel\/|web\/|keeper\/)?index)\.(?:cjs|d\.cts)|all\.cjs|web\/page\/(?:assets\.cjs|uplot-license\.txt))$/;
    const files = project.report.files.map(({ path }) => path);
    const others = files.filter((path) => !built.test(path));
    expect(others.toSorted()).to.deep.equal(documents.toSorted());
    expect(files).to.include.members(['dist/index.js', 'dist/index.d.ts']);
    expect(files.filter((path) => path.includes('.test.'))).to.deep.equal([]);
    expect(project.report.unpackedSize).to.be.at.most(UNPACKED_BUDGET);
  });

  it('satisfies publint and attw', async () => {
    const { buffer, byteOffset, byteLength } = await readFile(project.tarball);
    const tarball = buffer.slice(byteOffset, byteOffset + byteLength);
    const { messages, pkg } = await publint({ strict: true, pack: { tarball } });
    const texts = messages.map((message) => formatMessage(message, pkg, { color: false }));
    expect(texts).to.deep.equal([]);
    const attw = join(BIN, '@arethetypeswrong/cli/dist/index.js');
    await runNode([attw, project.tarball, '--no-definitely-typed', '--no-color', '--no-emoji']);
  });

  it('runs when imported and required, as one module, also if require() takes no ES modules', async () => {
    await project.write('consumer.mjs', ESM_CONSUMER);
    await project.write('consumer.cjs', CJS_CONSUMER);
    const older = ['--no-experimental-require-module', 'consumer.cjs'];
    for (const [args, said] of [
      [['consumer.mjs'], '0 null true true\n'],
      [['consumer.cjs'], '0 \n'],
      [older, '0 \n'],
    ] as const) {
      expect(await runNode(args, project.directory)).to.deep.include({ stdout: said, stderr: '' });
    }
  });

  it('runs in Jest without options', async () => {
    await project.write('jest/package.json', '{ "name": "jest-consumer", "private": true }');
    await project.write('jest/redsem.test.js', JEST_CONSUMER);
    const folder = join(project.directory, 'jest');
    const flags = ['--ci', '--no-watchman', '--cacheDirectory', join(folder, 'cache')];
    const { stderr } = await runNode([join(BIN, 'jest/bin/jest.js'), ...flags], folder);
    expect(stderr).to.match(/^Tests: +3 passed, 3 total$/m);
  });

  for (const [file, tsc, options] of [
    ['commonjs.ts', TSC_5, { module: 'commonjs', moduleResolution: 'node10' }],
    ['node16.cts', TSC_5, { module: 'node16' }],
    ['node16.cts', TSC, { module: 'node16' }],
    ['nodenext.cts', TSC, { module: 'nodenext' }],
  ] as const) {
    const title = `${Object.values(options).join(', ')}, TypeScript ${tsc === TSC ? 7 : 5}`;
    it(`type-checks in CommonJS (${title})`, async () => {
      await project.write(file, CJS_TYPES_CONSUMER);
      await project.compile([file], { esModuleInterop: true, ...options }, tsc);
    });
  }

  it('type-checks in a strict project, and refuses wrong calls', async () => {
    await project.write('api.mts', API_CONSUMER);
    await project.compile(['api.mts']);
  });
});
