import { parseArgs } from 'node:util';

import { FAULTS, type FaultKind } from './faults/kinds.js';
import { KINDS, type Settings } from './settings.js';

export type Command = ReturnType<typeof parseCommand>;

export const USAGE = `npm run simulate -- [options]
  --seed LIST     the seeds, or the first of them (default: drawn, and printed)
  --seeds K       how many seeds (default 1)
  --seconds S     as many seeds as can be run in S seconds of processor time
  --first         end with the first seed that breaks a promise
  --minutes M     virtual minutes for which faults strike in each seed (default 10)
  --processes P   simulated processes (default 16)
  --nodes N       independent masters: 1 (default) to 5
  --moved         one of these masters is exchanged for another while all runs; at least 0.5 minutes
  --groups        requests have groups with weights, and priorities
  --newcomers     most requests have a group that was never used before; the others as with --groups
  --budgets       groups with a rate, two budgets and a group limit that change; costs that are settled
  --keeper        half of the processes renew by a keeper, which continues while they stall
  --faults LIST   all (default), none, or some of: ${FAULTS.join(', ')}
  --pace S        mean seconds between two calls of a caller (default: drawn from the seed)
  --only LIST     numbers of the faults that strike; the others are left out
  --twice         run each seed twice and compare the digests
  --no-shrink     print a failing schedule as it is
  --quiet         print failures and the sum only
  --history FILE  write the last seed's history as JSON lines
  --real-scripts  the Lua scripts on a redis-server instead of the memory backend`;

/**
 * `others`: the seeds after the seed of the settings; behind the last, each is one higher.
 * @throws {RangeError} naming option, expectation and value
 */
export function parseCommand(args: readonly string[]) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: 'string' },
      seeds: { type: 'string' },
      seconds: { type: 'string' },
      minutes: { type: 'string', default: '10' },
      processes: { type: 'string', default: '16' },
      nodes: { type: 'string', default: '1' },
      moved: { type: 'boolean', default: false },
      groups: { type: 'boolean', default: false },
      newcomers: { type: 'boolean', default: false },
      budgets: { type: 'boolean', default: false },
      keeper: { type: 'boolean', default: false },
      faults: { type: 'string', default: 'all' },
      pace: { type: 'string' },
      only: { type: 'string' },
      first: { type: 'boolean', default: false },
      twice: { type: 'boolean', default: false },
      'no-shrink': { type: 'boolean', default: false },
      quiet: { type: 'boolean', default: false },
      history: { type: 'string' },
      'real-scripts': { type: 'boolean', default: false },
    },
  });
  const listed = numbers('seed', values.seed) ?? [];
  const [seed = Math.floor(Math.random() * 1e9), ...others] = listed;
  const settings: Settings = {
    seed,
    minutes: number('minutes', values.minutes, values.moved ? 0.5 : 0),
    processes: number('processes', values.processes, 1),
    nodes: number('nodes', values.nodes, values.moved ? 2 : 1),
    ...Object.fromEntries(KINDS.flatMap((kind) => (values[kind] ? [[kind, true]] : []))),
    faults: faultsNamed(values.faults),
    pace: number('pace', values.pace, 0),
    only: numbers('only', values.only),
  };
  const seeds = number('seeds', values.seeds, 1) ?? Math.max(1, listed.length);
  return { ...values, settings, others, seeds, seconds: number('seconds', values.seconds, 0) };
}

/** The command that repeats a run. */
export function replayOf({ faults, ...rest }: Settings): string {
  const named = faults.length < FAULTS.length ? { faults: faults.join(',') || 'none' } : {};
  const words = Object.entries({ ...rest, ...named }).flatMap(([name, value]) => {
    if (value === undefined || value === '') return [];
    return value === true ? [`--${name}`] : [`--${name} ${String(value)}`];
  });
  return `npm run simulate -- ${words.join(' ')}`;
}

export function number(option: string, text: string, least: number): number;
export function number(option: string, text: string | undefined, least: number): number | undefined;
export function number(option: string, text: string | undefined, least: number) {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() === '' || !(value >= least && value < Infinity)) {
    throw new RangeError(`--${option}: expected a number of at least ${least}, got '${text}'`);
  }
  return value;
}

function numbers(option: string, text: string | undefined): number[] | undefined {
  return text?.split(',').map((part) => number(option, part, -1));
}

function faultsNamed(text: string): FaultKind[] {
  if (text === 'all') return [...FAULTS];
  if (text === 'none') return [];
  return text.split(',').map((name) => {
    const kind = FAULTS.find((each) => each === name);
    if (kind === undefined) {
      throw new RangeError(`--faults: expected ${FAULTS.join(', ')}, got ${JSON.stringify(name)}`);
    }
    return kind;
  });
}
