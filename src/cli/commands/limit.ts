import { parseCount } from '../arguments.js';
import type { Command } from '../command.js';
import { EXIT } from '../exit-code.js';
import type { Operator } from '../operator.js';
import { confirm, print } from '../output.js';
import { withOperator } from '../operator.js';

export const limitCommand: Command = {
  name: 'limit',
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
  examples: [
    ['redsem limit deploys 5', 'five at once from now on'],
    ['redsem limit deploys', 'prints 5'],
    ['redsem limit deploys 0', 'no new ones until another limit is set'],
    ['redsem limit deploys +2', 'two more than now'],
    ['redsem limit -- deploys -2', 'two less'],
    ['redsem limit deploys none', 'what each process was started with counts again'],
  ],
  arguments: [1, 2],
  run: async (args) => {
    const [name = '', text] = args.positionals;
    if (text === 'none') return withOperator(args, (operator) => set(operator, name, undefined));
    const isChange = /^[+-]/.test(text ?? '');
    const number =
      text === undefined
        ? undefined
        : parseCount('N', text.slice(isChange ? 1 : 0), 0, Number.MAX_SAFE_INTEGER);
    if (number === undefined) return withOperator(args, (operator) => show(operator, name));
    if (!isChange) return withOperator(args, (operator) => set(operator, name, number));
    const delta = text?.startsWith('-') === true ? -number : number;
    return withOperator(args, (operator) => change(operator, name, delta));
  },
};

async function show(operator: Operator, name: string): Promise<number> {
  await print(`${(await operator.limitOf(name)) ?? '?'}\n`);
  return EXIT.ok;
}

async function set(operator: Operator, name: string, limit: number | undefined): Promise<number> {
  const before = process.stdout.isTTY ? await operator.limitOf(name) : null;
  await operator.setLimit(name, limit);
  await confirm(`${name}: ${before ?? '?'} -> ${limit ?? 'none stored'}`);
  return EXIT.ok;
}

async function change(operator: Operator, name: string, delta: number): Promise<number> {
  await print(`${await operator.addPermits(name, delta)}\n`);
  return EXIT.ok;
}
