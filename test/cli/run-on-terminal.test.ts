import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { isRunning, nodeUnder } from './process-states.js';
import { withSemaphore } from './semaphore-on.js';
import { describeOnTerminal, startOnTerminal } from './terminal.js';

describeOnTerminal('redsem run on a terminal', (server) => {
  it('gives the terminal to the command', async () => {
    const command = `sh -c 'test -t 0 && test -t 1 && read line < /dev/tty && echo "got $line"'`;
    const running = startOnTerminal(`redsem run tty -- ${command}; echo code $?`, server().url);
    running.type('a line\r');
    await running.shows('got a line');
    await running.shows('code 0');
    await running.result;
  });

  it('lets Ctrl-C reach the command once, and waits for what it makes of it', async () => {
    const command = `sh -c 'i=-1; trap "echo caught; i=0" INT; echo up
      while [ $i -lt 0 ]; do sleep 0.02 & wait; done
      while [ $i -lt 20 ]; do sleep 0.02 & wait; i=$((i + 1)); done; exit 5'`;
    const running = startOnTerminal(
      `trap : INT; redsem run keys -- ${command}; echo code $?`,
      server().url,
    );
    await running.shows('up');
    running.type('\x03');
    await running.shows('code 5');
    expect(running.stdout.match(/caught/g)).to.have.length(1);
    await running.result;
  });

  it('ends the wait for a permit by Ctrl-C', async () => {
    await withSemaphore(server(), 'wait', 1, async (own) => {
      await own.acquire();
      const running = startOnTerminal(
        'trap : INT; redsem run wait -- echo ran; echo code $?',
        server().url,
      );
      await eventually(async () => expect((await own.inspect()).waiting).to.equal(1));
      running.type('\x03');
      await running.shows('code 130');
      expect(running.stdout).not.to.contain('ran');
      expect(await own.inspect()).to.deep.include({ held: 1, waiting: 0 });
      await running.result;
    });
  });

  it('passes SIGTERM on to all that the command has started, but not to its caller', async () => {
    const command = `sh -c 'sh -c "trap \\"sleep 0.3; echo grandchild TERM; exit\\" TERM; echo up; while :; do sleep 0.02; done" & wait'`;
    // The caller stays until it is told to end: with it the terminal hangs up, which ends whoever is slower.
    const running = startOnTerminal(
      `redsem run tree -- ${command}; echo caller got $?; read line`,
      server().url,
    );
    await running.shows('up');
    // The caller of redsem is a shell of the same process group; only redsem itself gets the signal.
    process.kill(nodeUnder(running.child.pid), 'SIGTERM');
    await running.shows('grandchild TERM');
    await running.shows('caller got 143');
    running.type('\r');
    await running.result;
  });

  it('kills all that the command has started when the permit is lost', async () => {
    const command = `sh -c 'sh -c "trap \\"\\" TERM; echo pid:\\$\\$; while :; do sleep 0.02; done" & wait'`;
    const running = startOnTerminal(
      `redsem run --ttl 3s -k 200ms lost -- ${command}; echo code $?`,
      server().url,
    );
    await running.shows(/pid:\d+\s/);
    const stubborn = Number(/pid:(\d+)/.exec(running.stdout)?.[1]);
    await withSemaphore(server(), 'lost', 1, async (own) => {
      const { holders } = await own.inspect();
      await own.semaphore.revoke(holders[0]?.id ?? '');
    });
    await running.shows('code 79');
    await eventually(() => expect(isRunning(stubborn)).to.equal(false));
    await running.result;
  });
});
