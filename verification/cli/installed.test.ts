import { copyFileSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { describeWithServer } from '../../test/support/require-server.js';
import { makeTemporaryFolder, removeTemporaryFolder } from '../../test/support/temporary-folder.js';
import { type ProgramResult, ROOT, runNode, runProgram } from '../../test/tooling/run-program.js';

describeWithServer('redsem as it is installed', (server) => {
  const [installed, elsewhere] = [makeTemporaryFolder(), makeTemporaryFolder()];

  before('compile', async () => {
    const outDir = join(installed, 'dist');
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    await runNode([tsc, '-p', 'tsconfig.build.json', '--outDir', outDir]);
    await runNode(['scripts/bundle-command.mjs', outDir]);
    mkdirSync(join(installed, 'docs/reference'), { recursive: true });
    for (const file of ['package.json', 'docs/reference/errors.md']) {
      copyFileSync(join(ROOT, file), join(installed, file));
    }
  });

  after('remove', () => Promise.all([installed, elsewhere].map(removeTemporaryFolder)));

  function call(args: readonly string[], npm_command?: string): Promise<ProgramResult> {
    const program = [process.execPath, join(installed, 'dist/cli/main.js'), ...args];
    const env = { REDIS_URL: server().url, npm_command };
    return runProgram(program, { env, cwd: elsewhere });
  }

  // The clients are installed one by one: each test starts with the packages of the previous test.
  it('says which clients there are when none is installed, and needs none for its help', async () => {
    const none = await call(['list']);
    expect(none).to.include({ code: 69, stdout: '' });
    expect(none.stderr).to.match(/neither redis nor ioredis is installed.*npm install/);
    const one = await call(['list', '--client', 'redis']);
    const missing = 'redsem: redis is not installed beside redsem: npm install redis\n';
    expect(one.stderr).to.equal(missing);
    expect((await call(['--help'])).code).to.equal(0);
    expect((await call(['help', 'QUORUM'])).stdout).to.match(/^QUORUM\n\nOn several masters/);
    const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as object;
    const { stdout } = await call(['--version']);
    expect(stdout.trim()).to.equal(Reflect.get(manifest, 'version'));
  });

  it('takes the client of the project in which npx was called, and no other client', async () => {
    link(elsewhere, 'redis');
    expect((await call(['list'])).code).to.equal(69);
    expect(await call(['list'], 'exec')).to.deep.include({ code: 0, stderr: '' });
  });

  it('takes the client that is installed, in each of its versions', async () => {
    for (const [client, version] of [
      ['redis', 'redis-4'],
      ['redis', 'redis-5'],
      ['redis', 'redis'],
      ['ioredis', 'ioredis-6'],
      ['ioredis', 'ioredis'],
    ] as const) {
      link(installed, client, version);
      const ran = await call(['run', '--client', client, version, '--', 'sh', '-c', 'exit 4']);
      expect(ran, version).to.deep.include({ code: 4, stderr: '' });
    }
    const { stdout } = await call(['list']);
    expect(stdout).to.equal('ioredis\nioredis-6\nredis\nredis-4\nredis-5\n');
  });
});

/** Replaces an existing file. */
function link(project: string, name: string, from: string = name): void {
  const path = join(project, 'node_modules', name);
  mkdirSync(join(project, 'node_modules'), { recursive: true });
  rmSync(path, { force: true });
  symlinkSync(join(ROOT, 'node_modules', from), path);
}
