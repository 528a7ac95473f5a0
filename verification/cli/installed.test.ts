import { copyFileSync, cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { ROOT, runOrThrow } from '../../test/tooling/run-program.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { makeTemporaryFolder, removeTemporaryFolder } from '../../test/support/temporary-folder.js';
import type { CliResult } from '../../test/cli/cli-process.js';
import { CliProcess } from '../../test/cli/cli-process.js';

describeWithServer('redsem as it is installed', (server) => {
  let installed: string;
  let elsewhere: string;

  before('compile', async function () {
    this.timeout(120_000);
    installed = makeTemporaryFolder();
    elsewhere = makeTemporaryFolder();
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    const outDir = ['--outDir', join(installed, 'dist')];
    await runOrThrow(process.execPath, [tsc, '-p', 'tsconfig.build.json', ...outDir]);
    await runOrThrow(process.execPath, ['scripts/bundle-command.mjs', join(installed, 'dist')]);
    copyFileSync(join(ROOT, 'package.json'), join(installed, 'package.json'));
    link(installed, 'xxhash-wasm');
  });

  after('remove', async () => {
    await removeTemporaryFolder(installed);
    await removeTemporaryFolder(elsewhere);
  });

  function call(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<CliResult> {
    const program = [process.execPath, join(installed, 'dist/cli/main.js'), ...args];
    const options = { url: server().url, env: { npm_command: undefined, ...env } };
    return new CliProcess(program, { ...options, cwd: elsewhere, input: '' }).result;
  }

  // The clients come one by one: each test goes on with what the one before has installed.
  it('says which clients there are when none is installed', async () => {
    const none = await call(['list']);
    expect(none).to.include({ code: 69, stdout: '' });
    expect(none.stderr).to.match(/neither redis nor ioredis is installed.*npm install/);
    const one = await call(['list', '--client', 'redis']);
    expect(one.stderr).to.match(
      /^redsem: redis is not installed beside redsem: npm install redis\n$/,
    );
  });

  it('needs no client for its help', async () => {
    expect((await call(['--help'])).code).to.equal(0);
    const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as object;
    const { stdout } = await call(['--version']);
    expect(stdout.trim()).to.equal(Reflect.get(manifest, 'version'));
  });

  it('takes the client of the project in which npx was called, and else no foreign one', async () => {
    link(elsewhere, 'redis');
    expect((await call(['list'])).code).to.equal(69);
    const npx = await call(['list'], { npm_command: 'exec' });
    expect(npx).to.deep.include({ code: 0, stderr: '' });
  });

  for (const client of ['ioredis', 'redis']) {
    it(`takes ${client} where it is installed`, async () => {
      link(installed, client);
      const ran = await call(['run', 'installed', '--', 'sh', '-c', 'exit 4']);
      expect(ran).to.deep.include({ code: 4, stderr: '' });
      expect((await call(['list', '--client', client])).stdout).to.equal('installed\n');
    });
  }

  it('works with the older versions of both clients', async () => {
    for (const [client, version] of [
      ['redis', 'redis-4'],
      ['redis', 'redis-5'],
      ['ioredis', 'ioredis-6'],
    ] as const) {
      const project = makeTemporaryFolder();
      cpSync(installed, project, {
        recursive: true,
        filter: (path) => !path.includes('node_modules'),
      });
      link(project, 'xxhash-wasm');
      link(project, client, version);
      const program = [process.execPath, join(project, 'dist/cli/main.js')];
      const args = ['run', '--client', client, version, '--', 'sh', '-c', 'exit 4'];
      const started = new CliProcess([...program, ...args], { url: server().url, input: '' });
      expect(await started.result).to.deep.include({ code: 4, stderr: '' });
      await removeTemporaryFolder(project);
    }
  });
});

function link(project: string, name: string, from: string = name): void {
  mkdirSync(join(project, 'node_modules'), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules', from), join(project, 'node_modules', name));
}
