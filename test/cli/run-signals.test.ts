import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import type { TestServer } from '../support/redis-server.js';
import { describeWithServer } from '../support/require-server.js';
import { describeOnTerminal, semaphoreOn, shell } from './cli-fixture.js';
import { startOnTerminal, startRedsem, untilWaiting } from './cli-fixture.js';
import { familyOf, findUnder } from './process-states.js';

/**
 * A script that ends only by a signal; it and its own child name each signal. Its traps are set
 * before that child says that all is up.
 */
const TREE = `
  trap 'echo child TERM; wait; exit 3' TERM
  trap 'echo child USR1' USR1
  sh -c 'trap "echo grandchild TERM; exit" TERM; trap "" USR1; echo up; while :; do sleep 0.02; done' &
  while :; do wait; sleep 0.02; done`;

describeWithServer('redsem run and signals', (server) => {
  const start = (...args: string[]) => startRedsem(['run', ...args], { url: server().url });

  it('passes signals on to the command and its child processes, and exits with its code', async () => {
    const running = start('tree', '--', 'sh', '-c', TREE);
    await running.shows('up');
    running.child.kill('SIGUSR1');
    await running.shows('child USR1');
    const { code, stdout } = await running.end('SIGTERM');
    expect(code).to.equal(3);
    expect(stdout.split('\n')).to.include.members(['child TERM', 'grandchild TERM']);
    await expectFree(server(), 'tree');
  });

  it('ends the wait for a permit by a signal with its code, and the request is gone', async () => {
    const own = semaphoreOn(server(), 'waiting');
    await own.acquire();
    for (const [signal, code] of [
      ['SIGHUP', 129],
      ['SIGQUIT', 131],
      ['SIGTERM', 143],
      // The program dies of SIGINT itself, so that a shell ends its script.
      ['SIGINT', null],
    ] as const) {
      const waiting = start('waiting', '--', 'echo', 'ran');
      await untilWaiting(own);
      expect(await waiting.end(signal)).to.deep.include({ code, stdout: '', stderr: '' });
      expect(await own.inspect()).to.deep.include({ held: 1, waiting: 0 });
    }
  });

  it('ends the wait for the server by a signal, too', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const url = `redis://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const waiting = startRedsem(['run', 'hung', '--', 'true'], { url });
    const [socket] = (await once(silent, 'connection')) as [Socket];
    // Node.js itself has a handler for SIGTERM.
    expect(await waiting.end('SIGHUP')).to.include({ code: 129, signal: null });
    socket.destroy();
    silent.close();
  });

  it('dies of SIGINT itself where its command did, so that a shell ends its script', async () => {
    const running = start('int', '--', 'sh', '-c', 'echo up; while :; do sleep 0.02; done');
    await running.shows('up');
    expect(await running.end('SIGINT')).to.include({ code: null, signal: 'SIGINT' });
    await expectFree(server(), 'int');
    const script = `redsem run int -- sh -c 'kill -INT $$'; echo code $?`;
    expect((await shell(script, { url: server().url })).stdout).to.equal('code 130\n');
  });

  it('stops the command with itself, and continues it', async () => {
    const running = start('stop', '--', 'sh', '-c', 'while :; do echo tick; sleep 0.02; done');
    await running.shows('tick');
    running.child.kill('SIGTSTP');
    const states = (pid = running.child.pid) =>
      familyOf(pid)
        .map(({ state }) => state)
        .join('');
    // Z has ended and waits for its stopped parent; D has forked, and the new process is stopped.
    await eventually(() => {
      expect(states()).to.match(/^T/);
      // The family may have the compiler of the program, too.
      expect(states(findUnder(running.child.pid, 'sh'))).to.match(/^[TZD]*T[TZD]*$/);
    });
    running.child.kill('SIGCONT');
    await eventually(() => expect(states()).to.not.contain('T'));
    expect((await running.end('SIGTERM')).code).to.equal(143);
  });

  it('ends the command and its child processes when the permit is lost, and exits with 79', async () => {
    // The next extension hears of a revocation. A shorter ttl may be over before the command is up.
    const running = start('--ttl', '3s', 'taken', '--', 'sh', '-c', TREE);
    await running.shows('up');
    await revokeAll(server(), 'taken');
    const { code, stdout, stderr } = await running.result;
    expect(code).to.equal(79);
    expect(stdout.split('\n')).to.include.members(['child TERM', 'grandchild TERM']);
    expect(stderr).to.match(/^redsem: the permit of "taken" is lost: .*revoked/);
  });

  it('exits as lost when the command ended without its permit', async () => {
    const command = ['run', 'gone', '--', 'sh', '-c', 'echo up; read line'];
    const running = startRedsem(command, { url: server().url, input: undefined });
    await running.shows('up');
    // The holder does not hear of it: the next extension is 10 s away.
    await server().command('DEL', 'redsem:{gone}:tickets', 'redsem:{gone}:info');
    running.type('end\n');
    const { code, stderr } = await running.result;
    expect(code).to.equal(79);
    expect(stderr).to.contain('the permit was lost before the command had ended');
  });
});

describeOnTerminal('redsem run on a terminal', (server) => {
  it('gives the terminal to the command, which Ctrl-C reaches once, and waits for its end', async () => {
    const command = `sh -c 'test -t 0 && test -t 1 && read line < /dev/tty && echo "got $line"
      i=-1; trap "echo caught; i=0" INT; echo up
      while [ $i -lt 0 ]; do sleep 0.02 & wait; done
      while [ $i -lt 20 ]; do sleep 0.02 & wait; i=$((i + 1)); done; exit 5'`;
    const script = `trap : INT; redsem run keys -- ${command}; echo code $?`;
    const running = startOnTerminal(script, server().url);
    running.type('a line\r');
    await running.shows('got a line');
    await running.shows('up');
    running.type('\x03');
    await running.shows('code 5');
    expect(running.stdout.match(/caught/g)).to.have.length(1);
    await running.result;
  });

  it('reaches all processes of the command by a signal and after a loss, but not its caller', async () => {
    const command = `sh -c 'trap : TERM
      sh -c "trap \\"echo grandchild TERM\\" TERM; echo pid:\\$\\$; while :; do sleep 0.02; done" &
      while :; do wait; done'`;
    // The caller stays until it is asked to end: with it the terminal hangs up, which ends whatever
    // is slower.
    const script = `redsem run --ttl 3s -k 200ms tree -- ${command}; echo caller got $?; read line`;
    const running = startOnTerminal(script, server().url);
    await running.shows(/pid:\d+\s/);
    const stubborn = Number(/pid:(\d+)/.exec(running.stdout)?.[1]);
    // The caller of redsem is a shell of the same process group; only redsem itself gets the
    // signal.
    process.kill(findUnder(running.child.pid, 'node'), 'SIGTERM');
    await running.shows('grandchild TERM');
    await revokeAll(server(), 'tree');
    await running.shows('caller got 79');
    await eventually(() => expect(familyOf(stubborn)[0]?.state ?? 'Z').to.equal('Z'));
    running.type('\r');
    await running.result;
  });
});

async function revokeAll(server: TestServer, name: string): Promise<void> {
  const own = semaphoreOn(server, name);
  const { holders } = await own.inspect();
  expect(holders).to.have.length(1);
  for (const { id } of holders) await own.revoke(id);
}

async function expectFree(server: TestServer, name: string): Promise<void> {
  const { held, waiting } = await semaphoreOn(server, name).inspect();
  expect([held, waiting]).to.deep.equal([0, 0]);
}
