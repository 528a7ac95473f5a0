import { parseChange } from '../arguments.js';
import type { Command } from '../command.js';
import { withOperator } from '../operator.js';
import { confirm, print } from '../output.js';

export const limitCommand: Command = {
  synopsis: '[OPTION…] NAME [N | +N | -- -N | none]',
  summary: 'change how many permits a semaphore has',
  description: `
Stores N as the limit of NAME. It counts for every process from its next call on, whatever limit that
was started with, and is kept until a day after the last use. Waiters get at once what comes free; nobody
loses a permit when the limit shrinks. 0 pauses NAME: holders keep their permits, nobody else gets one.
+N and -N change the limit by N in one step and print the new one; -N needs -- before it. none removes
the stored limit: the limit that each process was started with counts again. Without N: prints the limit,
or ? where nobody has said one. On a terminal a change is confirmed by a line.`,
  options: {},
  examples: {
    'redsem limit deploys 5': 'five at once from now on',
    'redsem limit deploys': 'prints 5',
    'redsem limit deploys 0': 'no new ones until another limit is set',
    'redsem limit deploys +2': 'two more than now',
    'redsem limit -- deploys -2': 'two less',
    'redsem limit deploys none': 'what each process was started with counts again',
  },
  arguments: [1, 2],
  run: (args) => {
    const [name = '', text] = args.positionals;
    const given = text === undefined || text === 'none' ? undefined : parseChange('N', text);
    return withOperator(args, async (operator) => {
      if (given?.isChange === true) {
        return print(`${await operator.addPermits(name, given.count)}\n`);
      }
      const isShown = text === undefined || process.stdout.isTTY;
      const before = (isShown ? (await operator.inspect(name)).limit : null) ?? '?';
      if (text === undefined) return print(`${before}\n`);
      await operator.setLimit(name, given?.count);
      return confirm(`${name}: ${before} -> ${given?.count ?? 'none stored'}`);
    });
  },
};
