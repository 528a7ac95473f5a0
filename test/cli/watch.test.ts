import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import xterm from '@xterm/headless';
import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { describeWithServer } from '../support/require-server.js';
import { describeOnTerminal, semaphoreOn, shell } from './cli-fixture.js';
import { startOnTerminal, startRedsem } from './cli-fixture.js';
import type { Program } from '../tooling/run-program.js';
import { findUnder } from './process-states.js';

const [ENTER_SCREEN, LEAVE_SCREEN] = ['\u001b[?1049h', '\u001b[?1049l'];

/** The screen of a terminal of 100 columns and 30 rows comes to contain these texts. */
function onScreen(program: Program, ...texts: (string | RegExp)[]): Promise<void> {
  const terminal = new xterm.Terminal({ cols: 100, rows: 30, allowProposedApi: true });
  let written = 0;
  return eventually(async () => {
    const more = program.stdout.slice(written);
    written += more.length;
    await new Promise<void>((resolve) => terminal.write(more, resolve));
    const { active } = terminal.buffer;
    const lines = Array.from({ length: 30 }, (_, y) => active.getLine(active.baseY + y));
    const screen = lines.map((line) => line?.translateToString(true).trimEnd()).join('\n');
    for (const text of texts) {
      if (typeof text === 'string') expect(screen).to.contain(text);
      else expect(screen).to.match(text);
    }
  });
}

describeOnTerminal('redsem watch on a terminal', (server) => {
  it('shows holders and waiters, makes the change of a key, and survives a server that hangs', async () => {
    const own = semaphoreOn(server(), 'gpus', 4);
    const first = await own.acquire();
    const script = 'redsem watch --interval 500ms gpus; echo code $?; stty -a';
    const watching = startOnTerminal(script, server().url);
    const header = /^redsem watch +(\S+) · every 500ms · .* · connected$/m;
    await onScreen(watching, header, server().url, 'gpus · 1 of 4 held · 0 waiting', first.id);
    for (let i = 0; i < 3; i += 1) await own.acquire();
    const waiting = own.acquire();
    const graph = /^grants\/s {2}max +\d+ .*[▁-█]/m;
    await onScreen(watching, 'gpus · 4 of 4 held · 1 waiting · oldest ', graph);
    // Full, with a waiter: red.
    expect(watching.stdout).to.contain('\u001b[1;31m████');
    server().pause();
    const isOld = onScreen(watching, / · no answer, .* old$/m, 'gpus · 4 of 4');
    await isOld.finally(() => server().resume());
    await first.release();
    await waiting;
    await onScreen(watching, 'gpus · 4 of 4 held · 0 waiting', / · connected$/m);
    watching.type('l5\r');
    await onScreen(watching, 'limit of gpus: 5', 'gpus · 4 of 5 held');
    watching.type('\u0003');
    await watching.shows('code 0');
    await watching.shows(/[^-]icanon/);
    const { stdout } = await watching.result;
    expect(stdout.indexOf(ENTER_SCREEN)).to.be.within(0, stdout.indexOf(LEAVE_SCREEN));
    expect(stdout).to.contain('\u001b[?25h');
    expect(stdout).to.match(/[^-]echo\b/);
  });

  it('follows the window, has no color if NO_COLOR says so, and ends by a signal', async () => {
    const watch = 'NO_COLOR=1 redsem watch --interval 500ms sized < /dev/null';
    const watching = startOnTerminal(`${watch}; echo code $?; stty -a`, server().url);
    await onScreen(watching, 'not in use within the last day', 'try: redsem run sized -- sleep 10');
    const node = findUnder(watching.child.pid, 'node');
    const resize = ['-F', `/proc/${node}/fd/1`, 'rows', '8', 'cols', '30'];
    expect(spawnSync('stty', resize).status).to.equal(0);
    await watching.shows('q quit  ? help  esc back\u001b[0m\u001b[J');
    // As soon as the client notices.
    await server().kill();
    await watching.shows('not connected');
    await server().restart();
    const colors = ['1;31', '32', '33'].map((color) => `\u001b[${color}m`);
    expect(colors.filter((color) => watching.stdout.includes(color))).to.deep.equal([]);
    // No keys come from a file.
    watching.type('q');
    process.kill(node, 'SIGTERM');
    await watching.shows('code 143');
    await watching.shows(/[^-]icanon/);
    expect((await watching.result).stdout).to.contain(LEAVE_SCREEN);
  });

  it('shows more on a terminal than in a pipe: bars, changes, the wait of run', async () => {
    const own = semaphoreOn(server(), 'deploys', 2);
    const held = [await own.acquire(), await own.acquire()];
    const script = 'redsem status; redsem limit deploys 1; redsem run deploys -- echo ran';
    const program = startOnTerminal(script, server().url);
    await program.shows(/NAME.*HELD[^]*deploys +2 +2 /);
    await program.shows('\u001b[33m██\u001b[0m');
    await program.shows('deploys: 2 -> 1');
    await program.shows('redsem: waiting for deploys (1st of 1, held by the test, the test)');
    for (const handle of held) await handle.release();
    await program.shows('ran');
    expect((await program.result).code).to.equal(0);
  });

  it('writes plain lines on a terminal that can do no more', async () => {
    const script = 'TERM=dumb; export TERM; redsem watch --interval 500ms dumb; echo code $?';
    const watching = startOnTerminal(script, server().url);
    await watching.shows(/held=0 limit=\? waiting=0 grants\/s=0\.0 name="dumb"/);
    watching.type('\u0003');
    expect((await watching.result).stdout).not.to.contain(ENTER_SCREEN);
  });
});

describeWithServer('redsem watch in a pipe', (server) => {
  const watch = (...args: string[]) =>
    startRedsem(['watch', '--interval', '500ms', ...args], { url: server().url });

  it('writes a plain line at each look, and names an unreadable semaphore once', async () => {
    const own = semaphoreOn(server(), 'plain\n', 2, 'hurt');
    await own.acquire();
    await server().command('SET', 'hurt:{text}:info', 'not a hash');
    const watching = watch('--prefix', 'hurt');
    const time = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`;
    const lines = (held: number): RegExp => {
      const counts = `held=${held} limit=2 waiting=0 grants/s=\\d+\\.\\d`;
      return new RegExp(`(?:^${time} ${counts} name="plain\\\\n"\n){3}`, 'm');
    };
    await watching.shows(lines(1));
    await own.acquire();
    await watching.shows(lines(2));
    const { signal, stdout, stderr } = await watching.end('SIGTERM');
    expect(signal).to.equal('SIGTERM');
    expect(stderr).to.match(/^redsem: "text" cannot be read: .*WRONGTYPE.*\n$/);
    expect(stdout).not.to.contain('\u001b');
  });

  it('says why a look failed, connects again, and ends quietly once its reader has gone', async () => {
    const watching = watch('again');
    await watching.shows('held=0 limit=?');
    await server().kill();
    await eventually(() => expect(watching.stderr).to.match(/^redsem: \S/));
    await server().restart();
    await semaphoreOn(server(), 'again', 2).acquire();
    await watching.shows('held=1 limit=2');
    watching.child.stdout?.destroy();
    expect(await watching.result).to.include({ code: 141, signal: null });
  });
});

(existsSync('/dev/full') ? it : it.skip)('redsem says when a disk is full, if it can', async () => {
  const { stdout, stderr } = await shell(`
    redsem --help > /dev/full; echo "code $?"
    redsem nonsense 2> /dev/full; echo "code $?"`);
  expect(stderr).to.equal('redsem: cannot write: no space left on device\n');
  expect(stdout).to.equal('code 74\ncode 64\n');
});
