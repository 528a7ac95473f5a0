import type { Call, PushedGrant, Reply } from '../backend.js';
import type { Script } from './compose-script.js';
import { inboxChannels, keysOf } from './keys.js';
import { grantsOf, list, milliseconds, textOf, TIME, UnexpectedReplyError } from './wire-text.js';

/** How a script takes calls of one kind, and how its reply is read. */
export interface Operation<C extends Call, R> {
  readonly script: Script;
  /** An argument before the inbox channel. */
  readonly sign?: string;
  /** The arguments that semaphores side by side may share: they begin a run of semaphores. */
  shared(call: C): readonly string[];
  /** Whether two calls share them. Left out: the script takes one semaphore. */
  shares?(one: C, other: C): boolean;
  /** The argument of one semaphore. An empty text would end the run. */
  argument(call: C): string;
  /** Undefined: the script gives no such reply. */
  read(answer: Answer, call: C): R | undefined;
}

/** The reply to one call. */
export interface Answer extends Reply {
  /** What the operation says. */
  readonly body: string;
  readonly askAgainAt?: number | undefined;
  readonly isTurn?: boolean;
}

/** The keys of one script call. */
export function keysOfAll(calls: readonly Call[]): readonly string[] {
  const first = calls[0];
  // Mostly one: no keys are collected.
  if (first !== undefined && calls.length === 1) return keysOf(first.key);
  // `flatMap` costs ten times as much.
  const keys: string[] = [];
  for (const { key } of calls) for (const each of keysOf(key)) keys.push(each);
  return keys;
}

/**
 * The arguments of one script call for calls of one client and one prefix, in their order. Of
 * neighbours with equal shared arguments only the first names them.
 */
export function argumentsOf<C extends Call>(
  calls: readonly C[],
  operation: Operation<C, unknown>,
): readonly string[] {
  let before = calls[0];
  if (before === undefined) return [];
  const inbox = inboxChannels(before.key.prefix) + before.client;
  const args = [inbox].concat(operation.shared(before), operation.argument(before));
  if (operation.sign !== undefined) args.unshift(operation.sign);
  for (let call = calls[1], i = 1; call !== undefined; call = calls[++i]) {
    // An empty text begins each run but the first.
    if (operation.shares?.(before, call) !== true) args.push('', ...operation.shared(call));
    args.push(operation.argument(call));
    before = call;
  }
  return args;
}

/** `time|answer|answer…`, an answer for each call. */
export function readReplies<C extends Call, R>(
  reply: unknown,
  calls: readonly C[],
  operation: Operation<C, R>,
): R[] {
  // Part by part, and by index: `split`, closures and iterators cost more on this path.
  const all = textOf(reply);
  let end = all.indexOf('|');
  const time = all.slice(0, Math.max(0, end));
  const serverTime = milliseconds(time);
  const replies = Array<R>(calls.length);
  for (let call = calls[0], i = 0; call !== undefined; call = calls[++i]) {
    const start = end + 1;
    const next = all.indexOf('|', start);
    end = next < 0 ? all.length : next;
    const answer = answerOf(all.slice(start, end), serverTime);
    const read = answer && operation.read(answer, call);
    if (read === undefined) throw new UnexpectedReplyError(operation.script.name, reply);
    replies[i] = read;
  }
  if (TIME.test(time) && end === all.length) return replies;
  throw new UnexpectedReplyError(operation.script.name, reply);
}

const NO_GRANTS: readonly PushedGrant[] = [];

/** `body`, or `body/limit/grants/time to ask again`; mostly the body alone. */
function answerOf(text: string, serverTime: number): Answer | undefined {
  if (!text.includes('/')) return { body: text, serverTime, grants: NO_GRANTS };
  const [body = '', limits = '', granted = '', nearest = ''] = text.split('/');
  // `s` and the stored limit, `o` and that of another caller, or nothing.
  if (!/^(?:[so]\d+)?$/.test(limits)) return undefined;
  const limit = limits === '' ? undefined : Number(limits.slice(1));
  return {
    body,
    serverTime,
    grants: list(granted).flatMap(grantsOf),
    ...(limits.startsWith('s') ? { storedLimit: limit } : { otherLimit: limit }),
    askAgainAt: nearest === '' ? undefined : milliseconds(nearest.replace('@', '')),
    isTurn: nearest.startsWith('@'),
  };
}
