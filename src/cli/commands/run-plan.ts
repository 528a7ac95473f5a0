import { fstatSync } from 'node:fs';
import { hostname } from 'node:os';
import { basename } from 'node:path';
import type { RateOptions, SemaphoreOptions } from '../../index.js';
import { type Arguments, parseCount } from '../arguments.js';
import type { Inherited } from '../child/child.js';
import { softLimitAtStart } from '../child/open-files.js';
import { namedValues, parseBudget, parseRate } from '../amounts.js';
import { prefixOf, type ServerSettings, serverSettings } from '../server-options.js';
import { attempt, EXIT, UsageError } from '../failure.js';
import { fit } from '../style.js';

/** The number of open files that most systems allow a program by default. */
const MOST_DESCRIPTORS = 1024;

/** The arguments of `run`. Times are milliseconds. */
export interface RunPlan {
  readonly settings: ServerSettings;
  readonly name: string;
  readonly options: SemaphoreOptions;
  /** Whether the user gave the limit. */
  readonly hasLimit: boolean;
  readonly permits: number;
  readonly cost: Readonly<Record<string, number>> | undefined;
  /** Undefined: no limit. */
  readonly timeout: number | undefined;
  readonly skipIfBusy: boolean;
  readonly conflictCode: number;
  readonly quiet: boolean;
  readonly command: readonly string[];
  readonly inherited: Inherited;
  readonly killAfter: number;
}

export function planOf(args: Arguments): RunPlan {
  const [name = ''] = args.positionals;
  const { command = [] } = args;
  if ((command[0] ?? '') === '') {
    throw new UsageError('expected -- and a command after the name: redsem run NAME -- COMMAND');
  }
  const [timeout, skipIfBusy] = [args.duration('timeout'), args.flag('skip-if-busy')];
  if (skipIfBusy && timeout !== undefined) {
    throw new UsageError('--skip-if-busy does not wait: expected no --timeout beside it');
  }
  return {
    settings: serverSettings(args),
    name,
    options: optionsOf(args, command),
    hasLimit: args.text('limit') !== undefined,
    permits: args.count('permits', 1) ?? 1,
    cost: namedValues('--cost', args.texts('cost'), (text) => parseCount('--cost', text, 0)),
    timeout,
    skipIfBusy,
    conflictCode: args.count('conflict-exit-code', 0, 255) ?? EXIT.notAcquired,
    quiet: args.flag('quiet'),
    command,
    inherited: { descriptors: descriptorsOf(args), softLimit: softLimitAtStart() },
    killAfter: args.duration('kill-after') ?? 10_000,
  };
}

function optionsOf(args: Arguments, [program = '']: readonly string[]): SemaphoreOptions {
  const [rate, ttl] = [rateOf(args), args.duration('ttl')];
  const budgets = namedValues('--budget', args.texts('budget'), (text) =>
    parseBudget('--budget', text),
  );
  // The command's arguments may hold secrets.
  const ownLabel = `${hostname()}:${process.pid} ${fit(basename(program), 40)}`;
  return {
    prefix: prefixOf(args),
    label: args.text('label') ?? ownLabel,
    limit: args.count('limit', 1) ?? (rate === undefined ? 1 : Infinity),
    ...(ttl !== undefined && { ttl }),
    ...(rate !== undefined && { rate }),
    ...(budgets !== undefined && { budgets }),
  };
}

function rateOf(args: Arguments): RateOptions | undefined {
  const [text, burst] = [args.text('rate'), args.count('burst', 1)];
  if (text !== undefined) return parseRate('--rate', text, burst);
  if (burst === undefined) return undefined;
  throw new UsageError('--burst: expected only beside --rate');
}

function descriptorsOf(args: Arguments): number[] {
  return args.texts('pass-fd').map((text) => {
    const fd = parseCount('--pass-fd', text, 3, MOST_DESCRIPTORS - 1);
    if (attempt(() => fstatSync(fd)) !== undefined) return fd;
    throw new UsageError(`--pass-fd: expected an open file descriptor, got ${fd}`);
  });
}
