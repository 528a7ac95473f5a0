import { parseCount } from '../arguments.js';
import type { Command } from '../command.js';
import { EXIT } from '../exit-code.js';
import type { Operator } from '../operator.js';
import { print } from '../output.js';
import { withOperator } from '../with-operator.js';

export const limitCommand: Command = {
  name: 'limit',
  synopsis: '[OPTION…] NAME [N]',
  summary: 'change how many permits a semaphore has',
  description: `
Stores N as the limit of NAME. It counts for every process from its next call on, whatever limit that
was started with, and is kept until a day after the last use. Waiters get at once what comes free; nobody
loses a permit when the limit shrinks. Without N: prints the limit, or ? where nobody has said one.`,
  options: {},
  examples: [
    ['redsem limit deploys 5', 'five at once from now on'],
    ['redsem limit deploys', 'prints 5'],
  ],
  arguments: [1, 2],
  run: async (args) => {
    const [name = '', text] = args.positionals;
    const limit = text === undefined ? undefined : parseCount('N', text, 1, MAXIMUM);
    return withOperator(args, (operator) => show(operator, name, limit));
  },
};

const MAXIMUM: number = Number.MAX_SAFE_INTEGER;

async function show(operator: Operator, name: string, limit: number | undefined): Promise<number> {
  if (limit !== undefined) await operator.setLimit(name, limit);
  else await print(`${(await operator.limitOf(name)) ?? '?'}\n`);
  return EXIT.ok;
}
