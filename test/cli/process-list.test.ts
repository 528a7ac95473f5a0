import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { expect } from 'chai';
import { stub } from 'sinon';
import { isInForeground, listProcesses } from '../../src/cli/child/process-list.js';
import { treeTarget } from '../../src/cli/child/signal-target.js';
import { findExecutable } from '../support/find-executable.js';
import { hasExited, spawnOwned } from '../support/owned-processes.js';

const systems: [name: string, missing: string | undefined, enter: () => void][] = [
  ['/proc', process.platform === 'linux' ? undefined : '/proc', () => undefined],
  ['ps', findExecutable('ps') === undefined ? 'ps' : undefined, onSystemWithoutProc],
];

for (const [source, missing, enter] of systems) {
  (missing === undefined ? describe : describe.skip)(`the processes that ${source} tells`, () => {
    beforeEach(enter);

    it('have this one among them, under its parent', () => {
      const own = listProcesses().find(({ pid }) => pid === process.pid);
      expect(own).to.include({ parent: process.ppid });
      expect(own?.started).to.match(/\d/);
      // Who is asked twice says the same, or a process would not be known again.
      expect(listProcesses().find(({ pid }) => pid === process.pid)).to.deep.equal(own);
    });

    it('no longer have one that has ended', async () => {
      const child = startIdler();
      const target = treeTarget(child.pid);
      expect(target.isAlive()).to.equal(true);
      target.send('SIGKILL');
      await once(child, 'exit');
      expect(target.isAlive()).to.equal(false);
      expect(listProcesses().some(({ pid }) => pid === child.pid)).to.equal(false);
    });
  });
}

const hasBoth = systems.every(([, missing]) => missing === undefined);
(hasBoth ? describe : describe.skip)('/proc and ps', () => {
  it('agree on whether the keyboard reaches this process', () => {
    const byProc = isInForeground();
    onSystemWithoutProc();
    expect(isInForeground()).to.equal(byProc);
  });
});

describe('where no system tells the processes', () => {
  let child: ReturnType<typeof startIdler>;

  beforeEach(() => {
    child = startIdler();
    onSystemWithoutProc();
    stub(process.env, 'PATH').value('/nowhere');
  });

  afterEach(() => child.kill('SIGKILL'));

  it('there are none to see, and no keyboard is known of', () => {
    expect(listProcesses()).to.deep.equal([]);
    expect(isInForeground()).to.equal(false);
  });

  it('signals reach the child itself', async () => {
    const target = treeTarget(child.pid);
    expect(target.isAlive()).to.equal(true);
    target.send('SIGTERM');
    if (!hasExited(child)) await once(child, 'exit');
    expect(child.signalCode).to.equal('SIGTERM');
    expect(target.isAlive()).to.equal(false);
  });
});

/** A process that does nothing until a signal ends it. */
function startIdler(): ChildProcess & { readonly pid: number } {
  const child = spawnOwned(process.execPath, ['-e', 'process.stdin.resume()'], {});
  const { pid } = child;
  // A signal to no number would go to this process's own group.
  if (pid === undefined) throw new Error('it did not start');
  return Object.assign(child, { pid });
}

function onSystemWithoutProc(): void {
  stub(process, 'platform').value('darwin');
}
