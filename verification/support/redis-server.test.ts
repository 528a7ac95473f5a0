import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

import { startServer } from '../../test/support/redis-server.js';
import { describeWithFakeClock, describeWithServer } from '../../test/support/require-server.js';
import { startWorker, type WorkerProcess } from '../../test/support/worker-process.js';
import { eventually } from '../../test/support/eventually.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const mocha = createRequire(import.meta.url).resolve('mocha/bin/mocha.js');

describeWithServer('test server', (server) => {
  it('answers raw commands with parsed replies', async () => {
    expect(await server().command('SET', 'key', 'naïve')).to.equal('OK');
    expect(await server().command('GET', 'key')).to.equal('naïve');
    expect(await server().command('GET', 'none')).to.equal(null);
    const script = "return {1, 'two', {false, {}}}";
    expect(await server().command('EVAL', script, '0')).to.deep.equal([1, 'two', [null, []]]);
  });

  it('rejects on an error reply', async () => {
    const error: unknown = await server()
      .command('NOSUCHCOMMAND')
      .catch((reason: unknown) => reason);
    expect(error)
      .to.be.an('error')
      .with.property('message')
      .that.matches(/^ERR unknown command/);
  });

  it('leaves its own commands out of the calls it counts', async () => {
    await server().command('SET', 'counted', '1');
    await server().command('EVAL', "return redis.call('INCR', KEYS[1])", '1', 'counted');
    const calls = await server().calls();
    expect(calls).to.include({ incr: 1 });
    expect(calls).not.to.have.any.keys('set', 'eval', 'info', 'ping', 'config|resetstat');
  });

  it('reads single fields of INFO', async () => {
    expect(await server().stat('server', 'tcp_port')).to.equal(String(server().port));
    expect(await server().stat('server', 'nothing')).to.equal('');
  });

  it('answers nothing while paused', async () => {
    server().pause();
    const reply = server().command('PING');
    const first = await Promise.race([reply, pause(200)]);
    server().resume();
    expect(first).to.equal('silence');
    expect(await reply).to.equal('PONG');
  });

  it('comes back empty on the same port after a kill', async () => {
    const { pid } = server();
    await server().command('SET', 'before', '1');
    await server().kill();
    await server().restart();
    expect(server().pid).not.to.equal(pid);
    expect(await server().command('GET', 'before')).to.equal(null);
  });

  it('stops a paused server and removes its folder, once and again', async () => {
    const other = await startServer({ args: ['--maxmemory', '7mb'] });
    expect(await other.stat('memory', 'maxmemory')).to.equal(String(7 * 1024 * 1024));
    other.pause();
    await other.stop();
    await other.stop();
    expect(existsSync(other.directory)).to.equal(false);
    expect(isRunning(other.pid)).to.equal(false);
  });

  it('tells what the server wrote when it cannot start', async () => {
    const error: unknown = await startServer({ args: ['--no-such-option', '1'] }).catch(
      (reason: unknown) => reason,
    );
    expect(error).to.be.an('error').with.property('message').that.includes('no-such-option');
  });
});

describeWithServer('test server whose test process ends', () => {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    it(`dies with ${signal} of its test process, stopped or not`, async function () {
      // Only Linux can tell a child that its parent was killed.
      if (signal === 'SIGKILL' && process.platform !== 'linux') this.skip();
      for (const stopped of [false, true]) {
        const fixture = new URL(
          '../../test/support/fixtures/orphaning-test-run.ts',
          import.meta.url,
        );
        const run = startWorker(fixture, { stopped });
        const { pid, directory } = await readServer(run);
        expect(isRunning(pid)).to.equal(true);
        run.kill(signal);
        await run.exited;
        await untilGone(pid);
        rmSync(directory, { recursive: true, force: true });
      }
    });
  }
});

describeWithServer('test server of a run with files side by side', () => {
  it('dies when the run is interrupted', async () => {
    const args = ['--parallel', '--jobs', '2', 'test/support/fixtures/never-done.ts'];
    const run = spawn(process.execPath, [mocha, ...args], { cwd: root });
    const pid = await new Promise<number>((resolve) => {
      let output = '';
      run.stdout.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        const [, told] = /server (\d+)\n/.exec(output) ?? [];
        if (told !== undefined) resolve(Number(told));
      });
    });
    expect(isRunning(pid)).to.equal(true);
    run.kill('SIGINT');
    await once(run, 'close');
    await untilGone(pid);
  });
});

describeWithFakeClock('test server with a clock of its own', (server) => {
  const offset = async (): Promise<number> => {
    const [seconds] = (await server().command('TIME')) as [string, string];
    return Number(seconds) * 1000 - Date.now();
  };

  it('begins at the true time', async () => {
    expect(await offset()).to.be.within(-6000, 1000);
  });

  it('moves TIME and key expiry at once, forward and back', async () => {
    await server().command('SET', 'short', '1', 'PX', '30000');
    await server().shiftClock(60_000);
    expect(await offset()).to.be.within(54_000, 61_000);
    expect(await server().command('GET', 'short')).to.equal(null);
    await server().shiftClock(-90_000);
    expect(server().clockOffset).to.equal(-30_000);
    expect(await offset()).to.be.within(-36_000, -29_000);
    const script = "return redis.call('TIME')[1]";
    const seconds = Number(await server().command('EVAL', script, '0'));
    expect(seconds * 1000 - Date.now()).to.be.within(-36_000, -29_000);
  });

  it('keeps its offset over a restart', async () => {
    await server().shiftClock(-server().clockOffset + 20_500);
    await server().restart();
    expect(await offset()).to.be.within(14_000, 21_500);
  });
});

interface OrphanedServer {
  readonly pid: number;
  readonly directory: string;
}

function pause(ms: number): Promise<string> {
  return new Promise((resolve) => {
    setTimeout(() => resolve('silence'), ms);
  });
}

async function readServer(run: WorkerProcess): Promise<OrphanedServer> {
  return (await run.next('server')).data as OrphanedServer;
}

/** A process that is dead but not yet collected by its new parent (state Z) does not run. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    if (process.platform !== 'linux') return true;
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

async function untilGone(pid: number): Promise<void> {
  await eventually(() => !isRunning(pid));
}
