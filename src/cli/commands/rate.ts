import type { Command } from '../command.js';
import { UsageError } from '../failure.js';
import { print } from '../output.js';
import { parseRate, showRate } from '../rate.js';
import { withOperator } from '../operator.js';

export const rateCommand: Command = {
  synopsis: '[OPTION…] NAME [N/UNIT | none]',
  summary: 'change how many permits a semaphore may grant in a period',
  description: `
Stores a rate for NAME: at most N permits are granted in each second (s), minute (m), hour (h) or day (d),
besides its limit; 100/15m is 100 in 15 minutes. It counts for every process from its next call on,
whatever rate that was started with, and is kept until a day after the last use. Waiters get at once what it allows;
earlier grants still count. none: no rate in any process. Without a rate: prints the rate that counts, or none.`,
  options: {
    '--burst N':
      'how many at once after a pause; default 1: one permit each time its share of the period is over',
  },
  examples: {
    'redsem rate api 100/m': 'one permit every 600 ms at most',
    'redsem rate --burst 20 api 100/m': 'the same on average, but 20 at once after a pause',
    'redsem rate api': 'prints 100/m burst 20',
    'redsem rate api none': 'the limit alone counts',
  },
  arguments: [1, 2],
  run: (args) => {
    const [name = '', text] = args.positionals;
    const burst = args.count('burst', 1);
    const isRate = text !== undefined && text !== 'none';
    if (burst !== undefined && !isRate) {
      throw new UsageError('--burst: expected only beside a rate');
    }
    const given = isRate ? parseRate('RATE', text, burst) : undefined;
    return withOperator(args, async (operator) => {
      if (text !== undefined) return operator.setRate(name, given);
      const { rate } = await operator.inspect(name);
      return print(`${rate === undefined ? 'none' : showRate(rate)}\n`);
    });
  },
};
