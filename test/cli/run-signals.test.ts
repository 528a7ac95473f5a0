import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { describeWithServer } from '../support/require-server.js';
import type { TestServer } from '../support/redis-server.js';
import { shell, startRedsem } from './cli-process.js';
import type { ProcessState } from './process-states.js';
import { catches, familyOf } from './process-states.js';
import { withSemaphore } from './semaphore-on.js';

/**
 * A script that ends only by a signal, and whose own child says which one it got. Its traps stand before that child is
 * there to say that all is up.
 */
const TREE = `
  trap 'echo child TERM; wait; exit 3' TERM
  trap 'echo child USR1' USR1
  sh -c 'trap "echo grandchild TERM; exit" TERM; echo up; while :; do sleep 0.02; done' &
  while :; do wait; sleep 0.02; done`;

/**
 * A holder that never waited learns of a revocation with its next extension, after a third of its ttl. A shorter one may
 * run out on a busy machine before the command is up.
 */
const SOON = ['--ttl', '3s'];

/** One that does not end by SIGTERM. */
const STUBBORN = `trap '' TERM; echo up; while :; do sleep 0.02; done`;

describeWithServer('redsem run and signals', (server) => {
  const start = (...args: string[]) => startRedsem(['run', ...args], { url: server().url });

  it('passes SIGTERM on to the command and what it has started, and exits with its code', async () => {
    const running = start('tree', '--', 'sh', '-c', TREE);
    await running.shows('up');
    running.kill('SIGTERM');
    const { code, stdout } = await running.result;
    expect(code).to.equal(3);
    expect(stdout.split('\n')).to.include.members(['child TERM', 'grandchild TERM']);
    await untilFree(server(), 'tree');
  });

  it('passes on SIGUSR1, which is no end', async () => {
    const running = start('usr', '--', 'sh', '-c', TREE);
    await running.shows('up');
    running.kill('SIGUSR1');
    await running.shows('child USR1');
    running.kill('SIGTERM');
    expect((await running.result).code).to.equal(3);
  });

  for (const [signal, number] of [
    ['SIGHUP', 129],
    ['SIGQUIT', 131],
    ['SIGTERM', 143],
  ] as const) {
    it(`${signal} ends the wait for a permit with ${number}, and the request is gone`, async () => {
      await withSemaphore(server(), 'waiting', 1, async (own) => {
        await own.acquire();
        const waiting = start('waiting', '--', 'echo', 'ran');
        await eventually(async () => expect((await own.inspect()).waiting).to.equal(1));
        waiting.kill(signal);
        expect(await waiting.result).to.deep.include({ code: number, stdout: '', stderr: '' });
        expect(await own.inspect()).to.deep.include({ held: 1, waiting: 0 });
      });
    });
  }

  it('dies of SIGINT itself where its command did, so that a shell ends its script', async () => {
    const running = start('int', '--', 'sh', '-c', 'echo up; while :; do sleep 0.02; done');
    await running.shows('up');
    running.kill('SIGINT');
    expect(await running.result).to.include({ code: null, signal: 'SIGINT' });
    await untilFree(server(), 'int');
  });

  it('ends the wait for the server by a signal, too', async () => {
    server().pause();
    try {
      const waiting = start('hung', '--', 'true');
      // A signal that comes before its handlers stand would end it in another way. Node has one of its own for SIGTERM.
      await eventually(() => expect(catches(waiting.child.pid, 'SIGHUP')).to.equal(true));
      waiting.kill('SIGHUP');
      expect(await waiting.result).to.include({ code: 129, signal: null });
    } finally {
      server().resume();
    }
  });

  it('stops the command with itself, and goes on with it', async () => {
    const running = start('stop', '--', 'sh', '-c', 'while :; do echo tick; sleep 0.02; done');
    await running.shows('tick');
    running.kill('SIGTSTP');
    const isStopped = ({ state }: ProcessState) => state === 'T';
    // Z has just ended and waits for its stopped parent; D has just forked, and the new process is stopped.
    const isStill = ({ state }: ProcessState) => /[TZD]/.test(state);
    await eventually(() => {
      const family = familyOf(running.child.pid);
      expect(family[0]?.state).to.equal('T');
      // Beside it there may be what compiles the program.
      const command = familyOf(family.find(({ program }) => program === 'sh')?.pid);
      expect(command.every(isStill) && command.some(isStopped)).to.equal(true);
    });
    running.kill('SIGCONT');
    await eventually(() => {
      expect(familyOf(running.child.pid).some(isStopped)).to.equal(false);
    });
    running.kill('SIGTERM');
    expect((await running.result).code).to.equal(143);
  });

  it('lets a command go on that was stopped without it', async () => {
    const running = start('alone', '--', 'sh', '-c', 'while :; do echo tick; sleep 0.02; done');
    await running.shows('tick');
    const command = familyOf(running.child.pid).find(({ program }) => program === 'sh');
    process.kill(command?.pid ?? Number.NaN, 'SIGSTOP');
    const stateOfCommand = () => familyOf(command?.pid)[0]?.state;
    await eventually(() => expect(stateOfCommand()).to.equal('T'));
    running.kill('SIGCONT');
    await eventually(() => expect(stateOfCommand()).to.match(/[SRD]/));
    running.kill('SIGTERM');
    expect((await running.result).code).to.equal(143);
  });

  it('stops and goes on while it waits for a permit, too, and keeps its place', async () => {
    await withSemaphore(server(), 'pausing', 1, async (own) => {
      const held = await own.acquire();
      const waiting = start('pausing', '--', 'echo', 'ran');
      await eventually(async () => expect((await own.inspect()).waiting).to.equal(1));
      waiting.kill('SIGTSTP');
      await eventually(() => expect(familyOf(waiting.child.pid)[0]?.state).to.equal('T'));
      waiting.kill('SIGCONT');
      await held.release();
      expect(await waiting.result).to.deep.include({ code: 0, stdout: 'ran\n', stderr: '' });
    });
  });

  describe('when the permit is lost', () => {
    it('sends SIGTERM to the command and what it has started, and exits with 79', async () => {
      const running = start(...SOON, 'revoked', '--', 'sh', '-c', TREE);
      await running.shows('up');
      await revokeAll(server(), 'revoked');
      const { code, stdout, stderr } = await running.result;
      expect(code).to.equal(79);
      expect(stdout.split('\n')).to.include.members(['child TERM', 'grandchild TERM']);
      expect(stderr).to.match(/^redsem: the permit of "revoked" is lost: it was revoked .*\n/);
    });

    it('sends SIGKILL after --kill-after', async () => {
      const running = start(...SOON, '-k', '200ms', 'stubborn', '--', 'sh', '-c', STUBBORN);
      await running.shows('up');
      await revokeAll(server(), 'stubborn');
      expect((await running.result).code).to.equal(79);
    });

    it('kills what the command leaves behind, too', async () => {
      const script = `(${STUBBORN}) & wait`;
      const running = start(...SOON, '-k', '200ms', 'left', '--', 'sh', '-c', script);
      await running.shows('up');
      await revokeAll(server(), 'left');
      // The stubborn one holds the pipe of stdout: only its end ends the streams.
      expect((await running.result).code).to.equal(79);
    });

    it('does so when the server is away for longer than the ttl', async () => {
      const running = start(...SOON, 'away', '--', 'sh', '-c', TREE);
      await running.shows('up');
      server().pause();
      const { code, stderr } = await running.result.finally(() => server().resume());
      expect(code).to.equal(79);
      expect(stderr).to.contain('its lease ran out before an extension was confirmed');
    });

    it('does not call the work of a command done that ended without its permit', async () => {
      const command = ['run', 'gone', '--', 'sh', '-c', 'echo up; read line'];
      const running = startRedsem(command, { url: server().url, input: undefined });
      await running.shows('up');
      // Deleted behind everybody's back: nobody is told, and the next extension is 10 s away.
      await server().command('DEL', 'redsem:{gone}:tickets', 'redsem:{gone}:meta');
      running.type('end\n');
      const { code, stderr } = await running.result;
      expect(code).to.equal(79);
      expect(stderr).to.contain('the permit was lost before the command had ended');
    });
  });

  it('is 130 to a shell when its command was interrupted', async () => {
    const script = `redsem run script -- sh -c 'kill -INT $$'; echo code $?`;
    const { stdout } = await shell(script, { url: server().url });
    expect(stdout).to.equal('code 130\n');
  });
});

async function revokeAll(server: TestServer, name: string): Promise<void> {
  await withSemaphore(server, name, 1, async (own) => {
    const { holders } = await own.inspect();
    expect(holders).to.have.length(1);
    for (const { id } of holders) await own.semaphore.revoke(id);
  });
}

async function untilFree(server: TestServer, name: string): Promise<void> {
  await withSemaphore(server, name, 1, async (own) => {
    expect(await own.inspect()).to.deep.include({ held: 0, waiting: 0 });
  });
}
