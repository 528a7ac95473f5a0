import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { findExecutable } from '../support/find-executable.js';
import { describeWithServer } from '../support/require-server.js';
import { redsem, semaphoreOn, shell, startRedsem, untilWaiting } from './cli-fixture.js';

/** A program of util-linux. */
const hasPrlimit = process.platform === 'linux' && findExecutable('prlimit') !== undefined;

describeWithServer('redsem run', (server) => {
  const run = (...args: string[]) => redsem(['run', ...args], { url: server().url });

  for (const client of ['redis', 'ioredis']) {
    it(`runs a command with permits, the pipes and the arguments as they are, through ${client}`, async () => {
      const [name, input] = [`job of ${client}`, 'x'.repeat(300_000)];
      const script = `echo "$REDSEM_NAME $REDSEM_SLOT $REDSEM_SLOTS $REDSEM_FENCING_TOKEN $*" >&2; cat; exit 7`;
      const given = ['sh', '-c', script, 'sh', '--limit', '$HOME', 'a b', '--', ''];
      const args = ['run', '--client', client, '-n', '3', '--permits', '2', name, '--', ...given];
      const { stderr, ...result } = await redsem(args, { url: server().url, input });
      expect(result).to.deep.equal({ code: 7, signal: null, stdout: input });
      expect(stderr).to.match(new RegExp(`^${name} 0 0,1 \\d{16} --limit \\$HOME a b -- \n$`));
      const after = await semaphoreOn(server(), name).inspect();
      expect(after).to.include({ held: 0, waiting: 0 });
    });
  }

  it('keeps the permit while the command runs, and exits as it did though the server hangs at the end', async () => {
    const command = ['sh', '-c', 'echo up; read line; exit 6'];
    const options = { url: server().url, input: undefined };
    const running = startRedsem(['run', '--ttl', '60s', 'kept', '--', ...command], options);
    await running.shows('up');
    const { held, holders } = await semaphoreOn(server(), 'kept').inspect();
    expect(held).to.equal(1);
    expect(holders[0]?.label).to.match(/:\d+ sh$/);
    server().pause();
    running.type('end\n');
    const { code, stderr } = await running.result.finally(() => server().resume());
    expect(code).to.equal(6);
    expect(stderr).to.match(/^redsem: warning: the permit may be free only when its ttl is over: /);
  });

  it('uses a stored limit, and says that others use another limit unless --quiet is given', async () => {
    const own = semaphoreOn(server(), 'stored');
    await own.setLimit(2);
    await own.acquire();
    expect(await run('-t', '0', 'stored', '--', 'true')).to.include({ code: 0, stderr: '' });
    const pair = await run('-t', '0', '--permits', '2', 'stored', '--', 'true');
    expect(pair.code).to.equal(75);
    const other = semaphoreOn(server(), 'mismatch', 4);
    await other.acquire();
    const { stderr } = await run('-n', '5', 'mismatch', '--', 'true');
    expect(stderr).to.match(/^redsem: warning: "mismatch" is used with limit 5 here and 4/);
    await other.acquire();
    expect(await run('-q', '-n', '5', 'mismatch', '--', 'true')).to.include({ stderr: '' });
  });

  it('gives the command the file descriptors that it is passed, and the soft limit on open files', async () => {
    const script = `
      ulimit -Sn 256; echo data > file
      redsem run --pass-fd 9 --pass-fd 5 fds -- sh -c 'read a <&9; read b <&5; echo $a $b; ulimit -Sn; read c <&4' \
        4<file 5<file 9<file`;
    const options = { url: server().url, cwd: server().directory };
    const { stdout, stderr } = await shell(script, options);
    const softLimit = hasPrlimit ? '256' : '\\w+';
    expect(stdout).to.match(new RegExp(`^data data\n${softLimit}\n$`));
    expect(stderr).to.match(/4: Bad file descriptor\n$/);
  });

  it('exits with 128 + n, 127 or 126 as a shell does, and the permit is back', async () => {
    for (const [command, code, stderr] of [
      [['sh', '-c', 'kill -KILL $$'], 137, ''],
      [['sh', '-c', 'kill -TERM $$'], 143, ''],
      [['./no-such-command'], 127, 'redsem: ./no-such-command: command not found\n'],
      [['./package.json'], 126, 'redsem: ./package.json: permission denied\n'],
    ] as const) {
      expect(await run('-t', '0', 'start', '--', ...command)).to.include({ code, stderr });
    }
    expect((await run('-t', '0', 'start', '--', 'true')).code).to.equal(0);
  });

  it('exits with 75 when no permit came free in time, or as -E and --skip-if-busy say, and nothing waits any more', async () => {
    const own = semaphoreOn(server(), 'busy');
    const held = await own.acquire();
    const touch = ['busy', '--', 'touch', join(server().directory, 'ran')];
    for (const [options, code] of [
      ['-t 0', 75],
      ['-t 0 -E 1', 1],
      ['--skip-if-busy', 0],
    ] as const)
      expect((await run(...options.split(' '), ...touch)).code).to.equal(code);
    // Connecting takes part of the time, and on a busy machine all of it, or all but a moment that
    // is too short for a reply.
    const { code, stderr } = await run('--timeout', '2s', ...touch);
    const inTime = /no permit of "busy" came free within 2000 ms\n$/;
    expect(stderr).to.match(code === 75 ? inTime : /cannot connect|no reply within \d+ ms\n$/);
    expect(code).to.be.oneOf([75, 69]);
    expect(await own.inspect()).to.deep.include({ held: 1, waiting: 0 });
    expect(() => readFileSync(join(server().directory, 'ran'))).to.throw('ENOENT');
    await held.release();
    const job = await run('--skip-if-busy', 'busy', '--', 'sh', '-c', 'echo ran; exit 3');
    expect(job).to.deep.include({ code: 3, stdout: 'ran\n', stderr: '' });
  });

  it('exits with 69 when the server hangs: within --timeout, while it connects and while it waits', async () => {
    const own = semaphoreOn(server(), 'hung');
    await own.acquire();
    const waiting = run('-t', '6s', 'hung', '--', 'true');
    await untilWaiting(own);
    server().pause();
    const others = [run('hung', '--', 'true'), run('-t', '1s', 'hung', '--', 'true')];
    const results = await Promise.all([waiting, ...others]).finally(() => server().resume());
    expect(results.map(({ code }) => code)).to.deep.equal([69, 69, 69]);
    const [waited = '', connected = '', hasty = ''] = results.map(({ stderr }) => stderr);
    expect(waited).to.match(/no permit of "hung" came free within 6000 ms.*last error/);
    expect(connected).to.contain('connecting: no answer within 5000 ms');
    expect(hasty).to.match(/^redsem: cannot connect .*: no answer within \d{3,4} ms\n$/);
    expect(hasty).not.to.contain('5000');
  });
});
