import { showBudget, parseBudget } from '../budget.js';
import type { Command } from '../command.js';
import { UsageError } from '../failure.js';
import { withOperator } from '../operator.js';
import { print } from '../output.js';

export const budgetCommand: Command = {
  synopsis: '[OPTION…] NAME BUDGET [N/UNIT | none]',
  summary: 'change how much the permits of a semaphore may cost in a period',
  description: `
Stores a budget for NAME: permits that cost N in all are granted in each second (s), minute (m), hour (h) or day (d),
besides its limit and its rate; 9000/15m is 9000 in 15 minutes. It counts for every process from its next call on,
whatever budget that was started with, and is kept until a day after the last use. none: it holds no request back.
Without an amount: prints the budget that counts and how much of it is used, or none.`,
  options: { '--burst N': 'how much at once after a pause; default: the amount' },
  examples: {
    'redsem budget llm tokens 90000/m': '90 000 tokens a minute, and as many at once after a pause',
    'redsem budget llm tokens': 'prints 90000/m, 3120 of 90000 used',
    'redsem budget llm tokens none': 'tokens hold no request back',
  },
  arguments: [2, 3],
  run: (args) => {
    const [name = '', budget = '', text] = args.positionals;
    const burst = args.count('burst', 1);
    const isBudget = text !== undefined && text !== 'none';
    if (burst !== undefined && !isBudget) {
      throw new UsageError('--burst: expected only beside an amount');
    }
    const given = isBudget ? parseBudget('AMOUNT', text, burst) : undefined;
    return withOperator(args, async (operator) => {
      if (text !== undefined) return operator.setBudget(name, budget, given);
      const state = (await operator.inspect(name)).budgets?.[budget];
      return print(`${state === undefined ? 'none' : showBudget(state)}\n`);
    });
  },
};
