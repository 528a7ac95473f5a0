import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { expect } from 'chai';
import { stub } from 'sinon';
import { softLimitAtStart, withSoftLimit } from '../../src/cli/child/open-files.js';
import { isInForeground, listProcesses } from '../../src/cli/child/processes.js';
import { treeTarget } from '../../src/cli/child/processes.js';
import { findExecutable } from '../support/find-executable.js';
import { spawnOwned, untilExit } from '../support/owned-processes.js';

/** A process that does nothing until a signal ends it. */
function startIdler(): ChildProcess & { readonly pid: number } {
  const child = spawnOwned(process.execPath, ['-e', 'process.stdin.resume()'], {});
  const { pid } = child;
  // A signal to no number would reach this process's own group.
  if (pid === undefined) throw new Error('it did not start');
  return Object.assign(child, { pid });
}

const withoutProc = () => void stub(process, 'platform').value('darwin');
const hasProc = process.platform === 'linux';
const hasPs = findExecutable('ps') !== undefined;

describe('the processes under redsem run', () => {
  for (const [source, has, enter] of [
    ['/proc', hasProc, () => undefined],
    ['ps', hasPs, withoutProc],
  ] as const) {
    (has ? it : it.skip)(`are seen by ${source} until they end, and known again`, async () => {
      enter();
      const own = () => listProcesses().find(({ pid }) => pid === process.pid);
      expect(own()).to.include({ parent: process.ppid });
      expect(own()?.started).to.match(/\d/);
      expect(own()).to.deep.equal(own());
      const child = startIdler();
      const target = treeTarget(child.pid);
      expect(target.isAlive()).to.equal(true);
      target.send('SIGKILL');
      await once(child, 'exit');
      expect(target.isAlive()).to.equal(false);
      expect(listProcesses().some(({ pid }) => pid === child.pid)).to.equal(false);
    });
  }

  (hasProc && hasPs ? it : it.skip)('have a keyboard by /proc where they have one by ps', () => {
    const byProc = isInForeground();
    withoutProc();
    expect(isInForeground()).to.equal(byProc);
  });

  it('get signals also where nothing shows them: the child itself', async () => {
    const child = startIdler();
    withoutProc();
    stub(process.env, 'PATH').value('/nowhere');
    expect([listProcesses(), isInForeground()]).to.deep.equal([[], false]);
    const target = treeTarget(child.pid);
    expect(target.isAlive()).to.equal(true);
    target.send('SIGTERM');
    await untilExit(child);
    expect(child.signalCode).to.equal('SIGTERM');
    expect(target.isAlive()).to.equal(false);
  });

  it('have the limit on open files of the parent of redsem, if only Node.js has changed it and it can be set', () => {
    const raised = { soft: 4096, hard: 4096 };
    expect(softLimitAtStart(raised, { soft: 256, hard: 4096 })).to.equal(256);
    const others = [raised, { soft: 256, hard: 512 }, { soft: 8192, hard: 4096 }];
    for (const parent of others) expect(softLimitAtStart(raised, parent)).to.equal(undefined);
    const command = ['/bin/sh', '-c', ':'];
    expect(withSoftLimit(command, undefined)).to.equal(command);
    expect(withSoftLimit(command, 256, '/nowhere')).to.equal(command);
  });
});
