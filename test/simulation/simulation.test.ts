import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { expect } from 'chai';

import { checkPlace } from '../../verification/simulation/planted/build.js';
import { BUGS } from '../../verification/simulation/planted/bugs.js';
import { programOf } from '../support/program-file.js';
import { describeWithServer } from '../support/require-server.js';

const execute = promisify(execFile);
const MAIN = fileURLToPath(new URL('../../verification/simulation/main.ts', import.meta.url));

/** In a separate process: it makes weak references strong. */
async function simulate(...args: readonly string[]): Promise<string> {
  const command = [...programOf(MAIN), '--no-shrink', ...args];
  const run = execute(process.execPath, command, { maxBuffer: 1 << 26 });
  const { stdout } = await run.catch((error: { stdout: string }) => error);
  return stdout;
}

/** The last line counts. */
function sumOf(output: string): string {
  return output.trim().split('\n').at(-1) ?? '';
}

describe('simulation', () => {
  const common = '--quiet --minutes 0.1 --pace 0.4';
  for (const [nodes, seed, seeds] of [
    [1, 1, 150],
    [2, 51, 5],
    [3, 1, 20],
    [4, 56, 5],
    [5, 26, 20],
  ] as const) {
    it(`keeps every promise with ${seeds} seeds and ${nodes === 1 ? 'one server' : `a quorum of ${nodes}`}`, async () => {
      const processes = nodes === 1 ? 4 : 3;
      const these = `--nodes ${nodes} --processes ${processes} --seed ${seed} --seeds ${seeds}`;
      const output = await simulate(...`${these} ${common}`.split(' '));
      expect(sumOf(output), output).to.match(new RegExp(`^${seeds} seeds .*: 0 failed$`));
    });
  }

  it('keeps every promise while a node of a quorum is exchanged, with clocks up to 30 s off', async () => {
    const output = await simulate(
      ...'--nodes 3 --moved --processes 4 --minutes 0.5 --seed 1 --seeds 10 --quiet'.split(' '),
    );
    expect(sumOf(output), output).to.match(/^10 seeds .*: 0 failed$/);
  });

  it('keeps every promise but that of arrival with groups and priorities', async () => {
    const output = await simulate(
      ...'--groups --processes 5 --minutes 0.5 --seed 1 --seeds 20 --quiet'.split(' '),
    );
    expect(sumOf(output), output).to.match(/^20 seeds .*: 0 failed$/);
  });

  // Each has once broken a promise, or raised a false alarm.
  const failed = [
    '--seed 840000050 --minutes 1 --processes 4',
    '--seed 129225918 --minutes 1 --processes 6 --only 10,24,26 --without 3,4,5',
  ];
  for (const seeds of failed) {
    it(`keeps every promise with ${seeds}`, async () => {
      const output = await simulate('--quiet', ...seeds.split(' '));
      expect(sumOf(output), output).to.match(/^\d seeds .*: 0 failed$/);
    });
  }

  it('the same seed is the same run', async () => {
    const output = await simulate(
      ...'--seed 2 --seeds 3 --minutes 0.2 --processes 4 --twice'.split(' '),
    );
    expect(output).to.not.include('NOT THE SAME');
    const again = await simulate(...'--seed 2 --seeds 3 --minutes 0.2 --processes 4'.split(' '));
    const digests = (text: string) => text.match(/\b[0-9a-f]{64}\b/g);
    expect(digests(again)).to.have.length(3).and.deep.equal(digests(output));
  });

  it('every planted bug has its place in the sources', async () => {
    const checks = await Promise.allSettled(BUGS.map((bug) => checkPlace(bug)));
    const misplaced = checks.filter((check) => check.status === 'rejected');
    expect(misplaced.map(({ reason }) => String(reason))).to.deep.equal([]);
  });
});

describeWithServer('simulation over the real scripts', () => {
  for (const seeds of [
    // It once raised a false alarm.
    '--seed 6403 --minutes 0.2 --processes 16 --faults restart-old',
    '--seed 1 --seeds 10 --minutes 0.1 --processes 4',
  ]) {
    it(`keeps every promise with ${seeds}`, async () => {
      const output = await simulate('--quiet', '--real-scripts', ...seeds.split(' '));
      expect(sumOf(output), output).to.match(/^1?\d seeds .*: 0 failed$/);
    });
  }
});
