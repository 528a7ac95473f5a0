import { expect } from 'chai';
import { stub } from 'sinon';
import { softLimitAtStart, withSoftLimit } from '../../src/cli/child/open-files.js';
import { isInForeground, listProcesses, treeTarget } from '../../src/cli/child/processes.js';
import { findExecutable } from '../support/find-executable.js';
import { spawnOwned, untilExit } from '../support/owned-processes.js';

const hasProc = process.platform === 'linux';
const hasPs = findExecutable('ps') !== undefined;

describe('the processes under redsem run', () => {
  for (const [source, isThere, platform, path] of [
    ['/proc', hasProc, 'linux', process.env['PATH']],
    ['ps', hasPs, 'darwin', process.env['PATH']],
    ['no program', true, 'darwin', '/nowhere'],
  ] as const) {
    (isThere ? it : it.skip)(`get signals until they end, as ${source} shows them`, async () => {
      const child = spawnOwned(process.execPath, ['-e', 'process.stdin.resume()'], {});
      const { pid } = child;
      // A signal to no number would reach this process's own group.
      if (pid === undefined) throw new Error('it did not start');
      const inForeground = isInForeground();
      stub(process, 'platform').value(platform);
      stub(process.env, 'PATH').value(path);
      const own = () => listProcesses().find((each) => each.pid === process.pid);
      if (path === '/nowhere') {
        expect([listProcesses(), isInForeground()]).to.deep.equal([[], false]);
      } else {
        expect(own()).to.include({ parent: process.ppid });
        expect(own()?.started).to.match(/\d/);
        expect(own(), 'known again').to.deep.equal(own());
        expect(isInForeground()).to.equal(inForeground);
      }
      const target = treeTarget(pid);
      expect(target.isAlive()).to.equal(true);
      target.send('SIGTERM');
      await untilExit(child);
      expect(child.signalCode).to.equal('SIGTERM');
      expect(target.isAlive()).to.equal(false);
      expect(listProcesses().some((each) => each.pid === pid)).to.equal(false);
    });
  }

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
