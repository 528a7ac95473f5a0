import { quoted } from '../../arguments/shown.js';
import { parseBudget, parseRate, showBudget, showRate } from '../amounts.js';
import { type Arguments, parseChange } from '../arguments.js';
import { EXIT, UsageError } from '../failure.js';
import { withOperator } from '../operator.js';
import { complain, confirm, print } from '../output.js';
import { limitText } from '../permits.js';

export function limit(args: Arguments): Promise<void> {
  const [name = '', text] = args.positionals;
  const given = text === undefined || text === 'none' ? undefined : parseChange('N', text);
  return withOperator(args, async (operator) => {
    if (given?.isChange === true) {
      return print(`${await operator.change(name, (own) => own.addPermits(given.count))}\n`);
    }
    const isShown = text === undefined || process.stdout.isTTY;
    const before = limitText(isShown ? (await operator.inspect(name)).limit : null);
    if (text === undefined) return print(`${before}\n`);
    await operator.change(name, (own) => own.setLimit(given?.count), given?.count);
    return confirm(`${name}: ${before} -> ${given?.count ?? 'none stored'}`);
  });
}

export function rate(args: Arguments): Promise<void> {
  const [name = '', text] = args.positionals;
  const given = withBurst(args, text, 'a rate', (each, burst) => parseRate('RATE', each, burst));
  return withOperator(args, async (operator) => {
    if (text !== undefined) return operator.change(name, (own) => own.setRate(given));
    const { rate: state } = await operator.inspect(name);
    return print(`${state === undefined ? 'none' : showRate(state)}\n`);
  });
}

export function budget(args: Arguments): Promise<void> {
  const [name = '', key = '', text] = args.positionals;
  const given = withBurst(args, text, 'an amount', (amount, burst) =>
    parseBudget('AMOUNT', amount, burst),
  );
  return withOperator(args, async (operator) => {
    if (text !== undefined) return operator.change(name, (own) => own.setBudget(key, given));
    const state = new Map(Object.entries((await operator.inspect(name)).budgets ?? {})).get(key);
    return print(`${state === undefined ? 'none' : showBudget(state)}\n`);
  });
}

/** The value to store and its `--burst`; undefined for `none`, and without a value. */
function withBurst<V>(
  args: Arguments,
  text: string | undefined,
  what: string,
  parse: (text: string, burst: number | undefined) => V,
): V | undefined {
  const burst = args.count('burst', 1);
  if (text !== undefined && text !== 'none') return parse(text, burst);
  if (burst === undefined) return undefined;
  throw new UsageError(`--burst: expected only beside ${what}`);
}

export function revoke(args: Arguments): Promise<number | void> {
  const [name = '', ticket = ''] = args.positionals;
  return withOperator(args, async (operator) => {
    const isRevoked = await operator.change(name, (own) => own.revoke(ticket));
    if (isRevoked) return confirm(`${name}: revoked ${ticket}`);
    complain(`${quoted(name)} has no ticket ${ticket}`);
    return EXIT.noSuchTicket;
  });
}
