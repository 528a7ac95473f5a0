import type { Command } from '../command.js';
import { UsageError } from '../failure.js';
import { EXIT } from '../exit-code.js';
import type { Operator } from '../operator.js';
import { print } from '../output.js';
import { parseRate, showRate } from '../rate.js';
import { withOperator } from '../operator.js';

export const rateCommand: Command = {
  name: 'rate',
  synopsis: '[OPTION…] NAME [N/UNIT | none]',
  summary: 'change how many permits a semaphore may grant in a period',
  description: `
Stores a rate for NAME: at most N permits are granted in each second (s), minute (m), hour (h) or day (d),
besides its limit; 100/15m is 100 in 15 minutes. It counts for every process from its next call on,
whatever rate that was started with, and is kept until a day after the last use. Waiters get at once what it allows; what
was used before stays used. none: no rate for anybody. Without a rate: prints the one that counts, or none.`,
  options: {
    burst: {
      value: 'N',
      help: 'how many at once after a pause; default 1: one permit each time its share of the period is over',
    },
  },
  examples: [
    ['redsem rate api 100/m', 'one permit every 600 ms at most'],
    ['redsem rate --burst 20 api 100/m', 'the same on average, but 20 at once after a pause'],
    ['redsem rate api', 'prints 100/m burst 20'],
    ['redsem rate api none', 'the limit alone counts'],
  ],
  arguments: [1, 2],
  run: async (args) => {
    const [name = '', text] = args.positionals;
    const burst = args.count('burst', 1);
    if (burst !== undefined && (text === undefined || text === 'none')) {
      throw new UsageError('--burst: expected only beside a rate');
    }
    if (text === undefined) return withOperator(args, (operator) => show(operator, name));
    const rate = text === 'none' ? undefined : parseRate('RATE', text, burst);
    return withOperator(args, async (operator) => {
      await operator.setRate(name, rate);
      return EXIT.ok;
    });
  },
};

async function show(operator: Operator, name: string): Promise<number> {
  const { rate } = await operator.inspect(name);
  await print(`${rate === undefined ? 'none' : showRate(rate)}\n`);
  return EXIT.ok;
}
