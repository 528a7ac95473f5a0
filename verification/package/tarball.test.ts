import { mkdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect } from 'chai';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import {
  API_CONSUMER,
  CJS_CONSUMER,
  CJS_TYPES_CONSUMER,
  CLIENTS_CONSUMER,
  ESM_CONSUMER,
  JEST_CONSUMER,
} from './consumer-sources.js';
import { PackedProject } from './packed-project.js';
import { ROOT, runOrThrow } from '../../test/tooling/run-program.js';

/** ES modules, the same as CommonJS, and the command line as one file. */
const UNPACKED_BUDGET = 1_200_000;
const CLIENTS = ['redis', 'redis-5', 'redis-4', 'ioredis', 'ioredis-6'];
const BIN = join(ROOT, 'node_modules');

const TSC = join(BIN, 'typescript/bin/tsc');
/** A compiler that still resolves as Node.js 10 did: the one that attw brings. */
const TSC_5 = createRequire(
  createRequire(import.meta.url).resolve('@arethetypeswrong/core'),
).resolve('typescript/bin/tsc');

/** How CommonJS is compiled: the compiler, its options, the name of the file. */
const CJS_TYPES: Readonly<Record<string, readonly [tsc: string, options: object, file: string]>> = {
  'module commonjs, resolution node10': [
    TSC_5,
    { module: 'commonjs', moduleResolution: 'node10', esModuleInterop: true },
    'commonjs.ts',
  ],
  'module node16 of TypeScript 5': [TSC_5, { module: 'node16' }, 'node16.cts'],
  'module node16': [TSC, { module: 'node16' }, 'node16.cts'],
  'module nodenext': [TSC, { module: 'nodenext' }, 'nodenext.cts'],
};

describe('packed tarball', function () {
  this.timeout(180_000);
  let project: PackedProject;

  before(async () => {
    project = await PackedProject.create();
    for (const name of [...CLIENTS, '@types/node', '@opentelemetry/api']) await project.link(name);
  });

  after(() => project?.remove());

  it('holds the build and the documents, and nothing else', () => {
    const documents = ['package.json', 'README.md', 'LICENSE', 'CHANGELOG.md'];
    const built = /^dist\/(?:[\w/-]+\.(?:js|d\.ts)(?:\.map)?|(?:otel\/)?index\.(?:cjs|d\.cts))$/;
    const others = project.files.filter((path) => !built.test(path));
    expect(others.toSorted()).to.deep.equal(documents.toSorted());
    expect(project.files).to.include.members(['dist/index.js', 'dist/index.d.ts']);
    expect(project.files.filter((path) => path.includes('.test.'))).to.deep.equal([]);
  });

  it(`unpacks to at most ${UNPACKED_BUDGET / 1000} kB`, () => {
    expect(project.unpackedSize).to.be.at.most(UNPACKED_BUDGET);
  });

  it('satisfies publint', async () => {
    const { messages, pkg } = await publint({
      strict: true,
      pack: { tarball: await arrayBufferOf(project.tarball) },
    });
    const texts = messages.map((message) => formatMessage(message, pkg, { color: false }));
    expect(texts).to.deep.equal([]);
  });

  it('satisfies attw', async () => {
    const attw = join(BIN, '@arethetypeswrong/cli/dist/index.js');
    const flags = ['--no-definitely-typed', '--no-color', '--no-emoji'];
    await runOrThrow(process.execPath, [attw, project.tarball, ...flags]);
  });

  it('runs when imported', async () => {
    await project.write('consumer.mjs', ESM_CONSUMER);
    const { stdout, stderr } = await runFile('consumer.mjs');
    expect(JSON.parse(stdout)).to.deep.equal({ slot: 0, second: null, released: true });
    expect(stderr).to.equal('');
  });

  it('runs when required', async () => {
    await project.write('consumer.cjs', CJS_CONSUMER);
    const { stdout, stderr } = await runFile('consumer.cjs');
    expect(JSON.parse(stdout)).to.deep.equal({ result: 0 });
    expect(stderr).to.equal('');
  });

  it('runs when required by a Node.js whose require() takes no ES modules', async () => {
    await project.write('older.cjs', CJS_CONSUMER);
    const flag = '--no-experimental-require-module';
    const { stdout, stderr } = await runOrThrow(
      process.execPath,
      [flag, 'older.cjs'],
      project.directory,
    );
    expect(JSON.parse(stdout)).to.deep.equal({ result: 0 });
    expect(stderr).to.equal('');
  });

  it('is one module to import and require() of one process', async () => {
    const source = `import { createRequire } from 'node:module';
import { Semaphore } from 'redsem';
console.log(createRequire(import.meta.url)('redsem').Semaphore === Semaphore);`;
    await project.write('both.mjs', source);
    expect(await runFile('both.mjs')).to.include({ stdout: 'true\n' });
  });

  it('runs in Jest without options', async () => {
    await mkdir(join(project.directory, 'jest'), { recursive: true });
    await project.write('jest/package.json', '{ "name": "jest-consumer", "private": true }');
    await project.write('jest/redsem.test.js', JEST_CONSUMER);
    const folder = join(project.directory, 'jest');
    const flags = ['--ci', '--no-watchman', '--cacheDirectory', join(folder, 'cache')];
    const jest = join(BIN, 'jest/bin/jest.js');
    const { stderr } = await runOrThrow(process.execPath, [jest, ...flags], folder);
    expect(stderr).to.match(/^Tests: +2 passed, 2 total$/m);
  });

  for (const [title, [tsc, options, file]] of Object.entries(CJS_TYPES)) {
    it(`type-checks in CommonJS (${title})`, async () => {
      const resolution = { moduleResolution: undefined, ...options };
      await typeCheck(file, CJS_TYPES_CONSUMER, { skipLibCheck: false, ...resolution }, tsc);
    });
  }

  it('type-checks in a strict project that checks libraries too', async () => {
    await typeCheck('api.mts', API_CONSUMER, { skipLibCheck: false });
  });

  it('takes the clients of every supported major without casts', async () => {
    await typeCheck('clients.mts', CLIENTS_CONSUMER, { skipLibCheck: false });
  });

  function runFile(name: string): ReturnType<typeof runOrThrow> {
    return runOrThrow(process.execPath, [name], project.directory);
  }

  async function typeCheck(
    file: string,
    source: string,
    options: object,
    tsc: string = TSC,
  ): Promise<void> {
    await project.write(file, source);
    const compilerOptions = {
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      target: 'es2022',
      lib: ['es2022', 'esnext.disposable'],
      module: 'nodenext',
      moduleResolution: 'nodenext',
      types: ['node'],
      noEmit: true,
      ...options,
    };
    await project.write('tsconfig.json', JSON.stringify({ compilerOptions, files: [file] }));
    await runOrThrow(process.execPath, [tsc], project.directory);
  }
});

async function arrayBufferOf(path: string): Promise<ArrayBuffer> {
  const { buffer, byteOffset, byteLength } = await readFile(path);
  return buffer.slice(byteOffset, byteOffset + byteLength);
}
