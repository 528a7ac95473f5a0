import type { Call, PushedGrant, Reply } from '../backend.js';
import type { Script } from './compose-script.js';
import { inboxChannels, keysOf } from './keys.js';
import {
  grantsOf,
  limitOf,
  list,
  milliseconds,
  textOf,
  TIME,
  UnexpectedReplyError,
} from './wire-text.js';

/** How a script takes calls of one kind, and how its reply is read. */
export interface Operation<C extends Call, R> {
  readonly script: Script;
  /** Adds the arguments with which a run of semaphores begins. */
  addTerms(args: string[], call: C): void;
  /** Whether two calls have the same terms. Left out: the script takes one semaphore. */
  sameTerms?(one: C, other: C): boolean;
  /** What a run has for each semaphore. An empty text would end the run. */
  argument(call: C): string;
  /** @param text the semaphore's part of the reply */
  read(text: string, serverTime: number, call: C): R;
}

/** Calls of one client and one prefix, as one script call takes them. */
export interface ScriptCall<C> {
  readonly keys: readonly string[];
  readonly args: readonly string[];
  /** In the order of the reply's parts. */
  readonly calls: readonly C[];
}

/**
 * Calls with equal terms travel in one run, which names the terms once; all runs of a prefix in one
 * script call, which names one inbox.
 * @param sign comes before the inbox channel, see `acquire.lua`
 */
export function scriptCalls<C extends Call>(
  calls: readonly C[],
  operation: Operation<C, unknown>,
  sign = '',
): readonly ScriptCall<C>[] {
  // Mostly all are one run, and nothing is sorted.
  if (calls.every((call) => fits(call, calls[0], operation))) {
    return calls.length === 0 ? [] : [scriptCall(calls, [calls], operation, sign)];
  }
  const byPrefix = new Map<string, C[][]>();
  for (const call of calls) {
    const runs = byPrefix.get(call.key.prefix) ?? [];
    byPrefix.set(call.key.prefix, runs);
    addToRun(call, runs, operation);
  }
  return Array.from(byPrefix.values(), (runs) => scriptCall(runs.flat(), runs, operation, sign));
}

/** To the last run that has its terms, or a new one. Calls of one semaphore stay in their order. */
function addToRun<C extends Call>(call: C, runs: C[][], operation: Operation<C, unknown>): void {
  for (const run of runs.toReversed()) {
    if (fits(call, run[0], operation)) return void run.push(call);
    if (run.some(({ key }) => key.name === call.key.name)) break;
  }
  runs.push([call]);
}

function fits<C extends Call>(call: C, first: C | undefined, operation: Operation<C, unknown>) {
  if (call === first) return true;
  const isOfPrefix = call.key.prefix === first?.key.prefix;
  return isOfPrefix && first !== undefined && operation.sameTerms?.(call, first) === true;
}

function scriptCall<C extends Call>(
  calls: readonly C[],
  runs: readonly (readonly C[])[],
  operation: Operation<C, unknown>,
  sign: string,
): ScriptCall<C> {
  const args: string[] = [];
  for (const run of runs) {
    for (const call of run) {
      if (call === run[0]) {
        args.push(args.length > 0 ? '' : sign + inboxChannels(call.key.prefix) + call.client);
        operation.addTerms(args, call);
      }
      args.push(operation.argument(call));
    }
  }
  const only = calls.length === 1 ? calls[0] : undefined;
  const keys = only === undefined ? calls.flatMap(({ key }) => keysOf(key)) : keysOf(only.key);
  return { keys, args, calls };
}

/** `time|part|part…`, a part for each call. */
export function readReplies<C extends Call, R>(
  reply: unknown,
  { calls }: ScriptCall<C>,
  operation: Operation<C, R>,
): R[] {
  const parts = textOf(reply).split('|');
  // By index, here and elsewhere: an iterator costs more on this path.
  const time = parts[0] ?? '';
  if (!TIME.test(time) || parts.length !== calls.length + 1) {
    throw new UnexpectedReplyError(operation.script.name, reply);
  }
  const serverTime = milliseconds(time);
  return calls.map((call, i) => operation.read(parts[i + 1] ?? '', serverTime, call));
}

/** Replies to script calls, in the order of the calls that were sorted into them. */
export function inOrder<C, R>(
  calls: readonly C[],
  sent: readonly ScriptCall<C>[],
  replies: readonly (readonly R[])[],
): readonly R[] {
  const replyTo = new Map<C, R | undefined>();
  for (const [i, one] of sent.entries()) {
    for (const [j, call] of one.calls.entries()) replyTo.set(call, replies[i]?.[j]);
  }
  return calls.flatMap((call) => replyTo.get(call) ?? []);
}

export interface Tail {
  readonly body: string;
  readonly common: Reply;
  readonly askAgainAt: number | undefined;
}

const NO_GRANTS: readonly PushedGrant[] = [];

/** `body`, or `body/limit/grants/time to ask again`; mostly the body alone. */
export function tailOf(script: string, text: string, serverTime: number): Tail {
  if (!text.includes('/')) {
    const common = { serverTime, grants: NO_GRANTS, storedLimit: undefined, otherLimit: undefined };
    return { body: text, common, askAgainAt: undefined };
  }
  const [body = '', limit = '', grants = '', nearest = ''] = text.split('/');
  const common = { serverTime, grants: list(grants).flatMap(grantsOf), ...limitOf(script, limit) };
  return { body, common, askAgainAt: nearest === '' ? undefined : milliseconds(nearest) };
}

/** A tail whose body has a letter for each id. */
export function lettersOf(script: string, text: string, serverTime: number, ids: number): Tail {
  const tail = tailOf(script, text, serverTime);
  if (tail.body.length !== ids) throw new UnexpectedReplyError(script, text);
  return tail;
}
