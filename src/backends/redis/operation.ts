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
  /** Comes before the inbox channel. */
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
export interface Answer {
  /** What the operation says. */
  readonly body: string;
  readonly common: Reply;
  readonly askAgainAt: number | undefined;
  readonly isTurn: boolean;
}

/**
 * The keys and arguments of one script call for calls of one client and one prefix, in their order.
 * Of neighbours with equal shared arguments only the first names them.
 */
export function scriptCall<C extends Call>(
  calls: readonly C[],
  operation: Operation<C, unknown>,
): { readonly keys: readonly string[]; readonly args: readonly string[] } {
  const first = calls[0];
  if (first === undefined) return { keys: [], args: [] };
  const inbox = (operation.sign ?? '') + inboxChannels(first.key.prefix) + first.client;
  const args = [inbox, ...operation.shared(first), operation.argument(first)];
  // Mostly one: no keys are collected.
  if (calls.length === 1) return { keys: keysOf(first.key), args };
  const keys = [...keysOf(first.key)];
  for (let i = 1, last = first; i < calls.length; i += 1) {
    const call = calls[i] ?? last;
    keys.push(...keysOf(call.key));
    // An empty text begins each run but the first.
    if (operation.shares?.(last, call) !== true) args.push('', ...operation.shared(call));
    args.push(operation.argument(call));
    last = call;
  }
  return { keys, args };
}

/** `time|answer|answer…`, an answer for each call. */
export function readReplies<C extends Call, R>(
  reply: unknown,
  calls: readonly C[],
  operation: Operation<C, R>,
): R[] {
  // Part by part, and by index: `split` and iterators cost more on this path.
  const all = textOf(reply);
  let end = all.indexOf('|');
  const time = all.slice(0, Math.max(0, end));
  const serverTime = milliseconds(time);
  const replies = calls.map((call) => {
    const start = end + 1;
    const next = all.indexOf('|', start);
    end = next < 0 ? all.length : next;
    const answer = answerOf(all.slice(start, end), serverTime);
    return answer && operation.read(answer, call);
  });
  if (TIME.test(time) && end === all.length && replies.every(isRead)) return replies;
  throw new UnexpectedReplyError(operation.script.name, reply);
}

const isRead = <R>(read: R | undefined): read is R => read !== undefined;

const NO_GRANTS: readonly PushedGrant[] = [];

/** `body`, or `body/limit/grants/time to ask again`; mostly the body alone. */
function answerOf(text: string, serverTime: number): Answer | undefined {
  if (!text.includes('/')) {
    const common = { serverTime, grants: NO_GRANTS, storedLimit: undefined, otherLimit: undefined };
    return { body: text, common, askAgainAt: undefined, isTurn: false };
  }
  const [body = '', limit = '', grants = '', nearest = ''] = text.split('/');
  const limits = limitOf(limit);
  if (limits === undefined) return undefined;
  const common = { serverTime, grants: list(grants).flatMap(grantsOf), ...limits };
  const isTurn = nearest.startsWith('@');
  const time = isTurn ? nearest.slice(1) : nearest;
  return { body, common, askAgainAt: time === '' ? undefined : milliseconds(time), isTurn };
}
