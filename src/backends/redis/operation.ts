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
  /** The arguments with which a run of semaphores begins. */
  terms(call: C): readonly string[];
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
  const [first] = calls;
  if (first === undefined) return [];
  // Mostly all are one run, and nothing is sorted.
  if (calls.every((call) => fits(call, first, operation))) {
    return [scriptCall(calls, [calls], operation, sign)];
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
    if (run[0] !== undefined && fits(call, run[0], operation)) return void run.push(call);
    if (run.some(({ key }) => key.name === call.key.name)) break;
  }
  runs.push([call]);
}

function fits<C extends Call>(call: C, first: C, operation: Operation<C, unknown>): boolean {
  if (call === first) return true;
  return call.key.prefix === first.key.prefix && operation.sameTerms?.(call, first) === true;
}

function scriptCall<C extends Call>(
  calls: readonly C[],
  runs: readonly (readonly C[])[],
  operation: Operation<C, unknown>,
  sign: string,
): ScriptCall<C> {
  // An empty text begins each run but the first.
  const argsOf = (call: C): string[] => ['', ...operation.terms(call), operation.argument(call)];
  const [first, ...others] = calls;
  if (first === undefined) return { keys: [], args: [], calls };
  // Mostly one: nothing is collected.
  const args =
    others.length === 0
      ? argsOf(first)
      : runs.flatMap((run) =>
          run.flatMap((call) => (call === run[0] ? argsOf(call) : operation.argument(call))),
        );
  args[0] = sign + inboxChannels(first.key.prefix) + first.client;
  const keys = others.length === 0 ? keysOf(first.key) : calls.flatMap(({ key }) => keysOf(key));
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
  readonly isTurn: boolean;
}

const NO_GRANTS: readonly PushedGrant[] = [];

/** `body`, or `body/limit/grants/time to ask again`; mostly the body alone. */
export function tailOf(script: string, text: string, serverTime: number): Tail {
  if (!text.includes('/')) {
    const common = { serverTime, grants: NO_GRANTS, storedLimit: undefined, otherLimit: undefined };
    return { body: text, common, askAgainAt: undefined, isTurn: false };
  }
  const [body = '', limit = '', grants = '', nearest = ''] = text.split('/');
  const common = { serverTime, grants: list(grants).flatMap(grantsOf), ...limitOf(script, limit) };
  const isTurn = nearest.startsWith('@');
  const time = isTurn ? nearest.slice(1) : nearest;
  return { body, common, askAgainAt: time === '' ? undefined : milliseconds(time), isTurn };
}

/** A tail whose body has a letter for each id. */
export function lettersOf(script: string, text: string, serverTime: number, ids: number): Tail {
  const tail = tailOf(script, text, serverTime);
  if (tail.body.length !== ids) throw new UnexpectedReplyError(script, text);
  return tail;
}
