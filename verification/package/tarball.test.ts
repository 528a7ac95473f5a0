import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { API_CONSUMER, CJS_CONSUMER, CLIENTS_CONSUMER, ESM_CONSUMER } from './consumer-sources.js';
import { PackedProject } from './packed-project.js';
import { ROOT, runOrThrow } from '../../test/tooling/run-program.js';

const UNPACKED_BUDGET = 700_000;
const CLIENTS = ['redis', 'redis-5', 'redis-4', 'ioredis', 'ioredis-6'];
const BIN = join(ROOT, 'node_modules');

describe('packed tarball', function () {
  this.timeout(180_000);
  let project: PackedProject;

  before(async () => {
    project = await PackedProject.create();
    for (const name of [...CLIENTS, '@types/node']) await project.link(name);
  });

  after(() => project?.remove());

  it('holds the build and the documents, and nothing else', () => {
    const documents = ['package.json', 'README.md', 'LICENSE', 'CHANGELOG.md'];
    const built = /^dist\/[\w/-]+(\.js|\.d\.ts|\.js\.map|\.d\.ts\.map)$/;
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

  it('satisfies attw as an ESM-only package', async () => {
    const attw = join(BIN, '@arethetypeswrong/cli/dist/index.js');
    const flags = ['--profile', 'esm-only', '--no-definitely-typed', '--no-color', '--no-emoji'];
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
    options: { skipLibCheck: boolean },
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
    await runOrThrow(process.execPath, [join(BIN, 'typescript/bin/tsc')], project.directory);
  }
});

async function arrayBufferOf(path: string): Promise<ArrayBuffer> {
  const { buffer, byteOffset, byteLength } = await readFile(path);
  return buffer.slice(byteOffset, byteOffset + byteLength);
}
