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

/** The last line of the output counts. */
async function expectKept(args: string): Promise<void> {
  const output = await simulate('--quiet', ...args.split(' '));
  const [, seeds = '1'] = /--seeds (\d+)/.exec(args) ?? [];
  expect(output.trim().split('\n').at(-1), output).to.match(
    new RegExp(`^${seeds} seeds? .*: 0 failed$`),
  );
}

/** A sample: `npm run verify` has more seeds of each kind, and all that once broke a promise. */
describe('simulation', () => {
  for (const [what, args] of [
    ['one server', '--processes 4 --seed 1 --seeds 6 --minutes 0.1 --pace 0.4'],
    ['a quorum of 3', '--nodes 3 --processes 3 --seed 1 --seeds 2 --minutes 0.1 --pace 0.4'],
    [
      'a node of a quorum that is exchanged, and clocks up to 30 s off',
      '--nodes 3 --moved --processes 4 --minutes 0.5 --seed 1',
    ],
    ['groups and priorities', '--groups --processes 5 --minutes 0.5 --seed 1'],
    ['groups that ask once', '--newcomers --processes 5 --minutes 0.5 --seed 1 --pace 0.1'],
    ['costs, budgets and caps', '--budgets --processes 4 --minutes 0.3 --seed 1 --seeds 2'],
    ['keepers', '--keeper --processes 4 --minutes 0.2 --pace 0.4 --seed 1000 --seeds 2'],
  ] as const) {
    it(`keeps every promise with ${what}`, () => expectKept(args));
  }

  it('the same seed is the same run', async () => {
    const run = '--seed 2 --minutes 0.1 --processes 4'.split(' ');
    const output = await simulate(...run, '--twice');
    expect(output).to.not.include('NOT THE SAME');
    const digests = (text: string) => text.match(/\b[0-9a-f]{64}\b/g);
    expect(digests(await simulate(...run)))
      .to.have.length(1)
      .and.deep.equal(digests(output));
  });

  it('every planted bug has its place in the sources', async () => {
    for (const bug of BUGS) await checkPlace(bug);
  });
});

describeWithServer('simulation over the real scripts', () => {
  it('keeps every promise', () =>
    expectKept('--real-scripts --seed 1 --seeds 3 --minutes 0.1 --processes 4'));
});
