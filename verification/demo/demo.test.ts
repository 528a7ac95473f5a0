import { readdir } from 'node:fs/promises';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';

import { findServer } from '../../test/support/redis-server.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { makeTemporaryFolder, removeTemporaryFolder } from '../../test/support/temporary-folder.js';
import { runDemo, startDemo } from './run-demo.js';

describe('demo', () => {
  it('proves the limit with no server at all, within 15 s', async () => {
    const { exitCode, stdout, stderr, milliseconds } = await runDemo(['--seconds', '3']);
    expect(stderr).to.equal('');
    expect(stdout).to.match(/^backend: memory, in one process \(no REDIS_URL/m);
    expect(stdout).to.contain('peak in flight: 4 of 4 allowed, never 5');
    expect(stdout).to.contain('20 of 20 were served');
    expect(stdout).to.contain('no two requests in flight had the same');
    expect(stdout).to.contain('fencing tokens: rose with every request in every slot');
    expect(stdout).to.not.contain('\u001B');
    expect(exitCode).to.equal(0);
    expect(milliseconds).to.be.below(15_000);
  });

  it('ends with exit code 1 when five work where four are allowed', async () => {
    const { exitCode, stdout } = await runDemo('--permits 5 --allowed 4 --seconds 2'.split(' '));
    expect(stdout).to.contain('VIOLATED: peak in flight: 5, but only 4 are allowed');
    expect(stdout).to.not.contain('never 5');
    expect(exitCode).to.equal(1);
  });

  it('ends with exit code 1 when the limit is never reached', async () => {
    const { exitCode, stdout } = await runDemo('--permits 3 --allowed 4 --seconds 2'.split(' '));
    expect(stdout).to.contain('VIOLATED: peak in flight: 3, so 4 were never used');
    expect(exitCode).to.equal(1);
  });

  it('says what is wrong with a REDIS_URL that nobody answers', async () => {
    const REDIS_URL = 'redis://user:secret@127.0.0.1:1';
    const { exitCode, stderr } = await runDemo([], { REDIS_URL });
    expect(stderr).to.match(/no answer from redis:\/\/127\.0\.0\.1:1 \(REDIS_URL\)/);
    expect(stderr).to.not.contain('secret');
    expect(exitCode).to.equal(1);
  });

  it('refuses what it does not know', async () => {
    const { exitCode, stderr } = await runDemo(['--seconds', '60']);
    expect(stderr).to.contain("--seconds: expected an integer from 2 to 9, got '60'");
    expect(exitCode).to.equal(2);
  });
});

describeWithServer('demo on a server', (server) => {
  it('kills a worker process, whose permit comes back by its ttl', async () => {
    await server().command('SET', 'of-somebody-else', '1');
    const result = await runDemo(['--seconds', '4'], { REDIS_URL: server().url });
    const { exitCode, stdout, milliseconds } = result;
    expect(stdout + result.stderr).to.match(/worker \d+ killed \(SIGKILL\) holding slot [0-3]/);
    expect(stdout).to.match(/the permit of worker \d+ \(slot [0-3]\) is back after \d\.\d s/);
    expect(stdout).to.match(/^killed worker: .* permit back after \d+ ms \(ttl 2000 ms\)$/m);
    expect(stdout).to.contain('20 processes, 10 with redis and 10 with ioredis');
    expect(stdout).to.contain('peak in flight: 4 of 4 allowed, never 5');
    expect(exitCode).to.equal(0);
    expect(milliseconds).to.be.below(15_000);

    const keys = (await server().command('KEYS', '*')) as string[];
    const own = keys.filter((key) => /^redsem-demo-[0-9a-f]{12}:.*:meta$/.test(key));
    expect(keys).to.have.members([...own, 'of-somebody-else']);
  });

  it('takes its own server and its files along when it is interrupted', async () => {
    const folder = makeTemporaryFolder();
    try {
      const demo = startDemo([], { REDIS_SERVER: findServer(), TMPDIR: folder });
      while (!demo.stdout().includes('in flight') && demo.child.exitCode === null) await sleep(20);
      const port = Number(/started on 127\.0\.0\.1:(\d+)/.exec(demo.stdout())?.[1]);
      expect(await isOpen(port)).to.equal(true);
      demo.child.kill('SIGINT');
      const { exitCode } = await demo.result;
      expect(exitCode).to.equal(130);
      for (let tries = 0; tries < 100 && (await isOpen(port)); tries += 1) await sleep(10);
      expect(await isOpen(port)).to.equal(false);
      expect((await readdir(folder)).filter((name) => name.startsWith('redsem'))).to.deep.equal([]);
    } finally {
      await removeTemporaryFolder(folder);
    }
  });
});

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
