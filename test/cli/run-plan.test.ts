import { expect } from 'chai';
import { Arguments } from '../../src/cli/arguments.js';
import { COMMON_OPTIONS } from '../../src/cli/common-options.js';
import type { RunPlan } from '../../src/cli/commands/run-plan.js';
import { planOf, RUN_OPTIONS } from '../../src/cli/commands/run-plan.js';
import { UsageError } from '../../src/cli/failure.js';

function plan(...argv: string[]): RunPlan {
  return planOf(new Arguments(argv, { ...RUN_OPTIONS, ...COMMON_OPTIONS }, true));
}

describe('plan of redsem run', () => {
  it('has the defaults that the help tells', () => {
    expect(plan('jobs', '--', './job.sh', '-v')).to.deep.include({
      name: 'jobs',
      command: ['./job.sh', '-v'],
      prefix: 'redsem',
      limit: 1,
      permits: 1,
      timeout: undefined,
      skipIfBusy: false,
      conflictCode: 75,
      ttl: undefined,
      killAfter: 10_000,
      quiet: false,
    });
  });

  it('says who holds by host, process and program, without its arguments', () => {
    const { label } = plan('jobs', '--', '/opt/bin/job.sh', '--password', 'secret');
    expect(label).to.match(new RegExp(`^.+:${process.pid} job\\.sh$`));
  });

  it('takes durations with a unit', () => {
    const times = plan('-t', '1.5s', '--ttl', '2m', '-k', '500ms', 'jobs', '--', 'true');
    expect(times).to.include({ timeout: 1500, ttl: 120_000, killAfter: 500 });
  });

  const wrong: [argv: string[], message: string][] = [
    [['x', '--'], 'expected -- and a command'],
    [['--limit', '0', 'x', '--', 'true'], '--limit: expected a whole number, 1 or more, got "0"'],
    [['--limit', '1e3', 'x', '--', 'true'], '--limit: expected a whole number, 1 or more'],
    [['--timeout', '30', 'x', '--', 'true'], '--timeout: expected a duration such as 500ms'],
    [['--timeout', '-1s', 'x', '--', 'true'], "Option '--timeout' argument is ambiguous"],
    [['-E', '256', 'x', '--', 'true'], '--conflict-exit-code: expected a whole number, 0 to 255'],
    [['--skip-if-busy', '-t', '1s', 'x', '--', 'true'], '--skip-if-busy does not wait'],
    [['--nonsense', 'x', '--', 'true'], "Unknown option '--nonsense'"],
    [['--client', 'other', 'x', '--', 'true'], '--client: expected redis or ioredis, got "other"'],
    [['--cacert', './none.crt', 'x', '--', 'true'], '--cacert: ENOENT'],
    [
      ['--url', 'redis://a', '--url', 'redis://b', 'x', '--', 'true'],
      '--url: expected once, for only with --cluster',
    ],
  ];
  for (const [argv, message] of wrong) {
    it(`is refused: ${argv.join(' ')}`, () => {
      expect(() => plan(...argv)).to.throw(UsageError, message);
    });
  }
});
