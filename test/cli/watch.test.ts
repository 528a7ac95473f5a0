import { spawnSync } from 'node:child_process';
import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { describeWithServer } from '../support/require-server.js';
import type { CliProcess } from './cli-process.js';
import { redsem, startRedsem } from './cli-process.js';
import { familyOf, nodeUnder } from './process-states.js';
import { withSemaphore } from './semaphore-on.js';
import { describeOnTerminal, startOnTerminal } from './terminal.js';

const ENTER_SCREEN = '\u001b[?1049h';
const LEAVE_SCREEN = '\u001b[?1049l';

describeOnTerminal('redsem watch on a terminal', (server) => {
  const watch = (args: string): CliProcess =>
    startOnTerminal(`redsem watch --interval 100ms ${args}; echo code $?; stty -a`, server().url);

  it('shows holders, waiters, permits as a bar, and grants as they come', async () => {
    await withSemaphore(server(), 'gpus', 4, async (own) => {
      const { id } = await own.acquire();
      const watching = watch('gpus');
      await watching.shows('gpus: 1 of 4 permits held, 0 waiting');
      await watching.shows('█░░░');
      await watching.shows(/0 +\S+ +\S+ +\d+ +\S+ +the test/);
      expect(watching.stdout).to.contain(id);
      const more = [await own.acquire(), await own.acquire(), await own.acquire()];
      const waiting = own.acquire();
      await watching.shows('gpus: 4 of 4 permits held, 1 waiting');
      await watching.shows('████');
      await watching.shows(/grants .*[▁-█].* \d\.\d\/s seen/);
      await watching.shows(/1 +\S+ +1 +\S+ +the test/);
      await more[0]?.release();
      await waiting;
      watching.type('q');
      await watching.result;
    });
  });

  it('sorts by a key, and gives the terminal back when it quits', async () => {
    await withSemaphore(server(), 'sorted', 2, async (own) => {
      await own.acquire();
      const watching = watch('sorted');
      await watching.shows('s sort (slot)');
      watching.type('s');
      await watching.shows('s sort (age)');
      watching.type('q');
      await watching.shows('code 0');
      await watching.shows(/[^-]icanon/);
      const { stdout } = await watching.result;
      expect(stdout.indexOf(ENTER_SCREEN)).to.be.within(0, stdout.indexOf(LEAVE_SCREEN));
      expect(stdout).to.contain('\u001b[?25h');
      expect(stdout).to.match(/[^-]echo\b/);
    });
  });

  it('revokes the selected ticket, but only after a yes', async () => {
    await withSemaphore(server(), 'taken', 2, async (own) => {
      const [first, second] = [await own.acquire(), await own.acquire()];
      const watching = watch('taken');
      await watching.shows('2 of 2 permits held');
      watching.type('\u001b[B');
      watching.type('r');
      await watching.shows(`Take ticket ${second.id} from the test? y/N`);
      watching.type('n');
      const before = watching.stdout.length;
      // Several looks later all is as it was.
      await eventually(() => {
        const looks = watching.stdout.slice(before).match(/2 of 2 permits held/g);
        expect(looks?.length).to.be.at.least(4);
      });
      expect(watching.stdout).not.to.contain('1 of 2 permits held');
      expect(await own.inspect()).to.deep.include({ held: 2 });
      watching.type('r');
      await eventually(() => {
        expect(watching.stdout.lastIndexOf('y/N')).to.be.above(before);
      });
      watching.type('y');
      await watching.shows(`revoked ${second.id}`);
      await watching.shows('1 of 2 permits held');
      expect((await own.inspect()).holders.map(({ id }) => id)).to.deep.equal([first.id]);
      watching.type('\u0003');
      await watching.shows('code 0');
      await watching.result;
    });
  });

  it('shows all semaphores, opens one of them and comes back', async () => {
    await withSemaphore(server(), 'all-b', 3, async (own) => {
      await own.acquire();
      const watching = watch('');
      await watching.shows(/NAME +HELD +WAITING +GRANTS\/S +LONGEST HOLD/);
      await watching.shows(/all-b +1\/3 +█░░ +0/);
      watching.type('\r');
      await watching.shows('r revoke  esc all');
      watching.type('\u001b');
      await eventually(() => {
        const { stdout } = watching;
        expect(stdout.lastIndexOf('enter open')).to.be.above(stdout.lastIndexOf('esc all'));
      });
      watching.type('q');
      await watching.result;
    });
  });

  it('says that the server does not answer, and goes on when it is back', async () => {
    await withSemaphore(server(), 'back', 2, async (own) => {
      await own.acquire();
      const watching = watch('back');
      await watching.shows('1 of 2 permits held');
      server().pause();
      await watching.shows(/no answer|no reply/).finally(() => server().resume());
      await own.acquire();
      await watching.shows('2 of 2 permits held');
      watching.type('q');
      await watching.result;
    });
  });

  it('follows the size of the window', async () => {
    const script = 'stty rows 8 cols 40; redsem watch sized; stty rows 30 cols 100; echo over';
    const watching = startOnTerminal(script, server().url);
    await watching.shows('sized: 0 permits held');
    // The last line of what was drawn first.
    await watching.shows(/q quit {2}s sort \(slot\) {2}↑↓ select {2}r rev/);
    const window = familyOf(watching.child.pid).find(({ program }) => program === 'node');
    const terminal = `/proc/${window?.pid}/fd/0`;
    const { status } = spawnSync('stty', ['-F', terminal, 'rows', '20', 'cols', '90']);
    expect(status).to.equal(0);
    await watching.shows('r revoke  esc all');
    watching.type('q');
    await watching.shows('over');
    await watching.result;
  });

  it('shows its troubles without color where NO_COLOR says so, and takes no keys from a file', async () => {
    const script = 'NO_COLOR=1 redsem watch --interval 100ms plain < /dev/null; echo code $?';
    const watching = startOnTerminal(script, server().url);
    await watching.shows('plain: 0 permits held');
    server().pause();
    await watching.shows(/no answer|no reply/).finally(() => server().resume());
    expect(watching.stdout).not.to.contain('\u001b[1;31m');
    watching.type('q');
    process.kill(nodeUnder(watching.child.pid), 'SIGTERM');
    await watching.shows('code 143');
    await watching.result;
  });

  it('writes plain lines on a terminal that can do no more', async () => {
    const script = 'TERM=dumb; export TERM; redsem watch --interval 100ms dumb; echo code $?';
    const watching = startOnTerminal(script, server().url);
    await watching.shows(/held=0 limit=\? waiting=0 grants\/s=0\.0 name="dumb"/);
    watching.type('\u0003');
    await watching.result;
    expect(watching.stdout).not.to.contain(ENTER_SCREEN);
  });

  it('gives the terminal back when a signal ends it', async () => {
    const watching = watch('ended');
    await watching.shows('ended: 0 permits held (limit unknown), 0 waiting');
    process.kill(nodeUnder(watching.child.pid), 'SIGTERM');
    await watching.shows('code 143');
    await watching.shows(/[^-]icanon/);
    expect((await watching.result).stdout).to.contain(LEAVE_SCREEN);
  });
});

describeWithServer('redsem watch in a pipe', (server) => {
  it('writes plain lines', async () => {
    await withSemaphore(server(), 'plain\n', 2, async (own) => {
      await own.acquire();
      const watching = startRedsem(['watch', '--interval', '100ms', 'plain\n'], {
        url: server().url,
      });
      const time = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`;
      const line = (held: number): RegExp =>
        new RegExp(
          `^${time} held=${held} limit=2 waiting=0 grants/s=\\d+\\.\\d name="plain\\\\n"$`,
          'm',
        );
      await watching.shows(line(1));
      await own.acquire();
      await watching.shows(line(2));
      watching.kill('SIGTERM');
      expect(await watching.result).to.deep.include({ signal: 'SIGTERM', stderr: '' });
      expect(watching.stdout).not.to.contain('\u001b');
    });
  });

  it('refuses an interval that would burden the server, and a name that can be none', async () => {
    const options = { url: server().url };
    expect((await redsem(['watch', '--interval', '50ms'], options)).code).to.equal(64);
    expect((await redsem(['watch', 'x'.repeat(513)], options)).code).to.equal(64);
  });
});
