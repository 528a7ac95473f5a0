import { expect } from 'chai';
import { softLimitAtStart, withSoftLimit } from '../../src/cli/child/open-files.js';
import { findExecutable } from '../support/find-executable.js';

describe('the soft limit on open files', () => {
  const raised = { soft: 4096, hard: 4096 };

  it('is that of the parent where only Node.js has changed it', () => {
    expect(softLimitAtStart(raised, { soft: 256, hard: 4096 })).to.equal(256);
  });

  it('is left as it is where it is no lower, or somebody else may have set it', () => {
    const others = [raised, { soft: 256, hard: 512 }, { soft: 8192, hard: 4096 }];
    for (const parent of others) expect(softLimitAtStart(raised, parent)).to.equal(undefined);
  });

  it('is left as it is where nothing can set it, and where the command cannot be found', () => {
    const path = process.env['PATH'] ?? '';
    for (const [command, limit, folders] of [
      [['sh', '-c', ':'], undefined, path],
      [['/bin/sh', '-c', ':'], 256, '/nowhere'],
      [['no-such-command'], 256, path],
      [['./src'], 256, path],
      [[], 256, path],
    ] as const) {
      expect(withSoftLimit(command, limit, folders)).to.equal(command);
    }
  });

  (findExecutable('prlimit') === undefined ? it.skip : it)('is set by prlimit', () => {
    const command = withSoftLimit(['sh', '-c', 'exit'], 256);
    expect(command.slice(1)).to.deep.equal(['--nofile=256:', '--', 'sh', '-c', 'exit']);
  });
});
