import { quoted } from '../../arguments/shown.js';
import { parseBudget, parseRate, showBudget, showRate } from '../amounts.js';
import { type Command, parseChange } from '../arguments.js';
import { EXIT, UsageError } from '../failure.js';
import { withOperator } from '../operator.js';
import { complain, confirm, print } from '../output.js';

export const limitCommand: Command = {
  synopsis: '[OPTION…] NAME [N | +N | -- -N | none]',
  summary: 'change how many permits a semaphore has',
  description: `
Stores N as the limit of NAME. It counts for every process from its next call on, whatever limit the
process was started with, and is kept until a day after the last use. Waiters get new permits at once;
holders keep their permits when the limit shrinks. 0 pauses NAME: holders keep their permits, requests wait.
+N and -N change the limit by N in one step and print the new limit; -N needs -- before it. none removes
the stored limit: the limit that each process was started with counts again. Without N: prints the limit,
or ? when no process has named a limit. On a terminal a line confirms a change.`,
  options: {},
  examples: {
    'redsem limit deploys 5': 'five at once from now on',
    'redsem limit deploys': 'prints 5',
    'redsem limit deploys 0': 'no new permits until another limit is set',
    'redsem limit deploys +2': 'two more than now',
    'redsem limit -- deploys -2': 'two less',
    'redsem limit deploys none': 'the limit of each process counts again',
  },
  arguments: [1, 2],
  run: (args) => {
    const [name = '', text] = args.positionals;
    const given = text === undefined || text === 'none' ? undefined : parseChange('N', text);
    return withOperator(args, async (operator) => {
      if (given?.isChange === true) {
        return print(`${await operator.change(name, (own) => own.addPermits(given.count))}\n`);
      }
      const isShown = text === undefined || process.stdout.isTTY;
      const before = (isShown ? (await operator.inspect(name)).limit : null) ?? '?';
      if (text === undefined) return print(`${before}\n`);
      await operator.change(name, (own) => own.setLimit(given?.count), given?.count);
      return confirm(`${name}: ${before} -> ${given?.count ?? 'none stored'}`);
    });
  },
};

export const rateCommand: Command = {
  synopsis: '[OPTION…] NAME [N/UNIT | none]',
  summary: 'change how many permits a semaphore may grant in a period',
  description: `
Stores a rate for NAME: at most N permits are granted in each second (s), minute (m), hour (h) or day (d),
besides its limit; 100/15m is 100 in 15 minutes. It counts for every process from its next call on,
whatever rate the process was started with, and is kept until a day after the last use. Waiters get the permits that
it allows at once; earlier grants still count. none: no rate in any process. Without a rate: prints the rate that counts, or none.`,
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
      if (text !== undefined) return operator.change(name, (own) => own.setRate(given));
      const { rate } = await operator.inspect(name);
      return print(`${rate === undefined ? 'none' : showRate(rate)}\n`);
    });
  },
};

export const budgetCommand: Command = {
  synopsis: '[OPTION…] NAME BUDGET [N/UNIT | none]',
  summary: 'change how much the permits of a semaphore may cost in a period',
  description: `
Stores a budget for NAME: permits that cost N in all are granted in each second (s), minute (m), hour (h) or day (d),
besides its limit and its rate; 9000/15m is 9000 in 15 minutes. It counts for every process from its next call on,
whatever budget the process was started with, and is kept until a day after the last use. none: it holds no request back.
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
      if (text !== undefined) return operator.change(name, (own) => own.setBudget(budget, given));
      const state = (await operator.inspect(name)).budgets?.[budget];
      return print(`${state === undefined ? 'none' : showBudget(state)}\n`);
    });
  },
};

export const revokeCommand: Command = {
  synopsis: '[OPTION…] NAME TICKET',
  summary: 'take a permit from its holder',
  description: `
Takes a ticket from its holder and gives its permits to the next waiters. The holder is notified: "redsem run"
then ends its command, a Node.js program sees its handle lost. TICKET is what "redsem status" shows.

Exit code 1: there is no such ticket.`,
  options: {},
  examples: {
    'redsem revoke deploys 3f9Kq0mYwZ1x.1': 'the holder of that ticket must stop',
  },
  arguments: [2, 2],
  run: (args) => {
    const [name = '', ticket = ''] = args.positionals;
    return withOperator(args, async (operator) => {
      const isRevoked = await operator.change(name, (own) => own.revoke(ticket));
      if (isRevoked) return confirm(`${name}: revoked ${ticket}`);
      complain(`${quoted(name)} has no ticket ${ticket}`);
      return EXIT.noSuchTicket;
    });
  },
};
