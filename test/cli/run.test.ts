import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { describeWithServer } from '../support/require-server.js';
import { eventually } from '../support/eventually.js';
import { findExecutable } from '../support/find-executable.js';
import { pickLoopbackPort } from '../support/loopback-port.js';
import { redsem, shell, startRedsem } from './cli-process.js';
import { withSemaphore } from './semaphore-on.js';

/** By a program of util-linux. */
function canRestoreLimit(): boolean {
  return process.platform === 'linux' && findExecutable('prlimit') !== undefined;
}

describeWithServer('redsem run', (server) => {
  const run = (...args: string[]) => redsem(['run', ...args], { url: server().url });

  for (const client of ['redis', 'ioredis']) {
    it(`runs a command with a permit and gives it back, through ${client}`, async () => {
      const name = `job of ${client}`;
      const script = 'echo "$REDSEM_NAME/$REDSEM_SLOT/$REDSEM_FENCING_TOKEN"; exit 7';
      const { code, stdout } = await run('--client', client, name, '--', 'sh', '-c', script);
      expect(code).to.equal(7);
      expect(stdout).to.match(new RegExp(`^${name}/0/\\d{16}\n$`));
      await withSemaphore(server(), name, 1, async (own) => {
        expect(await own.inspect()).to.deep.include({ held: 0, waiting: 0 });
      });
    });
  }

  it('keeps the permit while the command runs, with what is known of its holder', async () => {
    const running = startRedsem(
      ['run', '-n', '2', 'kept', '--', 'sh', '-c', 'echo up; read line'],
      {
        url: server().url,
        input: undefined,
      },
    );
    await running.shows('up');
    await withSemaphore(server(), 'kept', 2, async (own) => {
      const { held, holders } = await own.inspect();
      expect(held).to.equal(1);
      expect(holders[0]?.label).to.match(/:\d+ sh$/);
      running.type('end\n');
      expect(await running.result).to.deep.include({ code: 0, stderr: '' });
      expect(await own.inspect()).to.deep.include({ held: 0 });
    });
  });

  it('gives the command its stdin, stdout and stderr', async () => {
    const input = 'x'.repeat(300_000);
    const result = await redsem(['run', 'pipe', '--', 'sh', '-c', 'echo to stderr >&2; exec cat'], {
      url: server().url,
      input,
    });
    expect(result).to.deep.equal({ code: 0, signal: null, stdout: input, stderr: 'to stderr\n' });
  });

  it('passes arguments on as they are, without a shell', async () => {
    const { stdout } = await run(
      'raw',
      '--',
      'printf',
      '[%s]',
      '--limit',
      '$HOME',
      'a b',
      '--',
      '',
    );
    expect(stdout).to.equal('[--limit][$HOME][a b][--][]');
  });

  it('takes several permits and tells their slots', async () => {
    const script = 'echo $REDSEM_SLOT $REDSEM_SLOTS';
    const { stdout } = await run('-n', '3', '--permits', '2', 'pair', '--', 'sh', '-c', script);
    expect(stdout).to.equal('0 0,1\n');
  });

  it('goes by a stored limit', async () => {
    await withSemaphore(server(), 'stored', 1, async (own) => {
      await own.semaphore.setLimit(2);
      const held = await own.acquire();
      expect(await run('-t', '0', 'stored', '--', 'true')).to.include({ code: 0, stderr: '' });
      const pair = await run('-t', '0', '--permits', '2', 'stored', '--', 'true');
      expect(pair.code).to.equal(75);
      await held.release();
    });
  });

  it('says that others use another limit, unless told to be quiet', async () => {
    await withSemaphore(server(), 'mismatch', 4, async (own) => {
      await own.acquire();
      const loud = await run('-n', '5', 'mismatch', '--', 'true');
      expect(loud).to.deep.include({ code: 0 });
      expect(loud.stderr).to.match(/^redsem: warning: "mismatch" is used with limit 5 here and 4/);
      await own.acquire();
      expect(await run('-q', '-n', '5', 'mismatch', '--', 'true')).to.include({ stderr: '' });
    });
  });

  it('never lets the commands of several shells overlap at limit 1', async () => {
    const script = `
      for i in 1 2 3; do
        redsem run only-one -- sh -c 'mkdir busy || echo overlap; sleep 0.2; rmdir busy; echo done'
      done`;
    const cwd = server().directory;
    const shells = [1, 2].map(() => shell(script, { url: server().url, cwd }));
    const results = await Promise.all(shells);
    for (const { stdout, stderr } of results) {
      expect({ stdout, stderr }).to.deep.equal({ stdout: 'done\ndone\ndone\n', stderr: '' });
    }
  });

  it('runs so many commands at once as there are permits, each in a slot of its own', async () => {
    // Each ends only once the other runs, too.
    const script = `touch slot-$REDSEM_SLOT; until [ -e slot-0 ] && [ -e slot-1 ]; do sleep 0.02; done`;
    const args = ['run', '-n', '2', 'two', '--', 'sh', '-c', script];
    const options = { url: server().url, cwd: server().directory };
    const results = await Promise.all([redsem(args, options), redsem(args, options)]);
    expect(results.map(({ code }) => code)).to.deep.equal([0, 0]);
  });

  it('runs all commands of a stampede, and never two in one slot', async () => {
    const script = 'mkdir crowd-$REDSEM_SLOT || echo overlap; rmdir crowd-$REDSEM_SLOT; echo ran';
    const args = ['run', '-n', '3', 'crowd', '--', 'sh', '-c', script];
    const options = { url: server().url, cwd: server().directory };
    const results = await Promise.all(Array.from({ length: 16 }, () => redsem(args, options)));
    const ran = results.filter(({ stdout, stderr }) => stdout === 'ran\n' && stderr === '');
    expect(ran.length, JSON.stringify(results)).to.equal(16);
  });

  it('exits as its command did when the permit cannot be given back, and warns', async () => {
    const command = ['run', '--ttl', '60s', 'kept', '--', 'sh', '-c', 'echo up; read line; exit 6'];
    const running = startRedsem(command, { url: server().url, input: undefined });
    await running.shows('up');
    server().pause();
    running.type('end\n');
    const { code, stderr } = await running.result.finally(() => server().resume());
    expect(code).to.equal(6);
    expect(stderr).to.match(
      /^redsem: warning: the permit may be free only when its ttl is over: .*\n$/,
    );
  });

  it('gives the command the file descriptors that it is told of, and no others', async () => {
    const cwd = server().directory;
    const script = `
      echo data > file
      redsem run --pass-fd 9 --pass-fd 5 fds -- sh -c 'read a <&9; read b <&5; echo $a $b; read c <&4; echo $c' \
        4<file 5<file 9<file`;
    const { stdout, stderr } = await shell(script, { url: server().url, cwd });
    expect(stdout).to.equal('data data\n\n');
    expect(stderr).to.match(/4: Bad file descriptor/);
  });

  (canRestoreLimit() ? it : it.skip)(
    'gives the command the soft limit on open files that it was started with',
    async () => {
      const script = `ulimit -Sn 256; redsem run limit -- sh -c 'ulimit -Sn; exit 3'; echo code $?
      redsem run limit -- ./no-such-command; echo code $?`;
      const { stdout, stderr } = await shell(script, { url: server().url });
      expect(stdout).to.equal('256\ncode 3\ncode 127\n');
      expect(stderr).to.equal('redsem: ./no-such-command: command not found\n');
    },
  );

  describe('exit codes', () => {
    it('128 + n when a signal ended the command', async () => {
      expect((await run('ended', '--', 'sh', '-c', 'kill -KILL $$')).code).to.equal(137);
      expect((await run('ended', '--', 'sh', '-c', 'kill -TERM $$')).code).to.equal(143);
    });

    it('127 for a command that is not there, 126 for one that cannot be run, and the permit is back', async () => {
      const missing = await run('start', '--', './no-such-command');
      expect(missing).to.include({ code: 127 });
      expect(missing.stderr).to.equal('redsem: ./no-such-command: command not found\n');
      const notExecutable = await run('start', '--', './package.json');
      expect(notExecutable).to.include({ code: 126 });
      expect(notExecutable.stderr).to.equal('redsem: ./package.json: permission denied\n');
      expect((await run('-t', '0', 'start', '--', 'true')).code).to.equal(0);
    });

    it('75 when no permit came free in time, or what -E says, and nothing waits any more', async () => {
      await withSemaphore(server(), 'busy', 1, async (own) => {
        await own.acquire();
        const touch = ['busy', '--', 'touch', join(server().directory, 'ran')];
        const results = await Promise.all([
          run('--timeout', '2s', ...touch),
          run('-t', '0', ...touch),
          run('-t', '0', '-E', '1', ...touch),
        ]);
        expect(results.map(({ code }) => code)).to.deep.equal([75, 75, 1]);
        expect(results[0]?.stderr).to.contain('no permit of "busy" came free within 2000 ms');
        expect(await own.inspect()).to.deep.include({ held: 1, waiting: 0 });
        expect(() => readFileSync(join(server().directory, 'ran'))).to.throw('ENOENT');
      });
    });

    it('0 with --skip-if-busy: the command runs if a permit is free, else not at all', async () => {
      await withSemaphore(server(), 'cron', 1, async (own) => {
        const job = ['--skip-if-busy', 'cron', '--', 'sh', '-c', 'echo ran; exit 3'];
        const held = await own.acquire();
        expect(await run(...job)).to.deep.include({ code: 0, stdout: '', stderr: '' });
        await held.release();
        expect(await run(...job)).to.deep.include({ code: 3, stdout: 'ran\n', stderr: '' });
      });
    });

    it('69 when the server is not there, through either client, without showing a password', async () => {
      const url = `redis://:secret@127.0.0.1:${await pickLoopbackPort()}`;
      for (const client of ['redis', 'ioredis']) {
        const { code, stderr } = await redsem(['run', '--client', client, 'x', '--', 'true'], {
          url,
        });
        expect(code).to.equal(69);
        expect(stderr).to.match(/^redsem: cannot connect to 127\.0\.0\.1:\d+: .*ECONNREFUSED/);
        expect(stderr).not.to.contain('secret');
      }
    });

    it('69 when the server does not answer: to who connects, and to who waits', async () => {
      await withSemaphore(server(), 'hung', 1, async (own) => {
        await own.acquire();
        const waiting = startRedsem(['run', '-t', '6s', 'hung', '--', 'true'], {
          url: server().url,
        });
        await eventually(async () => expect((await own.inspect()).waiting).to.equal(1));
        server().pause();
        try {
          const connecting = await run('hung', '--', 'true');
          expect(connecting).to.include({ code: 69 });
          expect(connecting.stderr).to.contain('connecting: no answer within 5000 ms');
          const waited = await waiting.result;
          expect(waited).to.include({ code: 69 });
          expect(waited.stderr).to.match(
            /no permit of "hung" came free within 6000 ms.*last error/,
          );
        } finally {
          server().resume();
        }
      });
    });

    it('69 when the server does not answer within --timeout: connecting counts', async () => {
      server().pause();
      try {
        const { code, stderr } = await run('-t', '1s', 'hung', '--', 'true');
        expect(code).to.equal(69);
        expect(stderr).to.match(/^redsem: cannot connect .*: no answer within \d{3,4} ms\n$/);
        expect(stderr).not.to.contain('5000');
      } finally {
        server().resume();
      }
    });

    it('64 for a wrong command line, with what is wrong in one line', async () => {
      const cases: [args: string[], message: RegExp][] = [
        [['x'], /^redsem: expected -- and a command after the name: .*\n$/],
        [['--ttl', '5ms', 'x', '--', 'true'], /^redsem: ttl: expected 100 to .*\n$/],
        [['--pass-fd', '1', 'x', '--', 'true'], /^redsem: --pass-fd: expected .*, 3 to .*\n$/],
        [['--pass-fd', '999', 'x', '--', 'true'], /^redsem: --pass-fd: .* open .*, got 999\n$/],
        [['--cluster', '--url', 'redis://h/3', 'x', '--', 'true'], /^redsem: --cluster: .*\n$/],
        [['--permits', '2', 'x', '--', 'true'], /^redsem: --permits: .* the limit, 1, got 2\n$/],
      ];
      for (const [args, message] of cases) {
        const { code, stderr } = await run(...args);
        expect(code, args.join(' ')).to.equal(64);
        expect(stderr).to.match(message);
      }
    });
  });
});
