import type { Call } from '../backend.js';
import type { Script } from './compose-script.js';
import { inboxChannels, keysOf } from './keys.js';
import type { ReplyPart } from './replies.js';
import { UnexpectedReplyError } from './replies.js';

/** How a script takes calls of one kind, and how its reply is read. */
export interface Operation<C extends Call, R> {
  readonly script: Script;
  /** What a run of semaphores begins with. */
  terms(call: C): readonly string[];
  /** Whether two calls have the same terms, so that they may be in one run. */
  sameTerms(one: C, other: C): boolean;
  /** What a run has for each semaphore. An empty one would end the run. */
  argument(call: C): string;
  parse(part: ReplyPart, call: C): R;
}

/** One of several calls that travel together. */
export interface Entry<C> {
  readonly call: C;
  /** Its index in the list of all. */
  readonly place: number;
}

/** Calls of one client and one prefix, as one script call takes them. */
export interface ScriptCall<C> {
  readonly keys: readonly string[];
  readonly args: readonly string[];
  /** In the order of the reply's parts. */
  readonly entries: readonly Entry<C>[];
}

/**
 * Calls with equal terms travel in one run, which names the terms once.
 * @param sign stands before the inbox channel, see `acquire.lua`
 */
export function scriptCall<C extends Call>(
  calls: readonly C[],
  operation: Operation<C, unknown>,
  sign = '',
): ScriptCall<C> {
  const keys: string[] = [];
  const args: string[] = [];
  const entries: Entry<C>[] = [];
  for (const run of runsOf(calls, operation)) {
    const [{ call: first }] = run;
    args.push(entries.length > 0 ? '' : sign + inboxChannels(first.key.prefix) + first.client);
    args.push(...operation.terms(first));
    for (const entry of run) {
      keys.push(...keysOf(entry.call.key));
      args.push(operation.argument(entry.call));
      entries.push(entry);
    }
  }
  return { keys, args, entries };
}

type Run<C> = [Entry<C>, ...Entry<C>[]];

function runsOf<C extends Call>(
  calls: readonly C[],
  operation: Operation<C, unknown>,
): readonly Run<C>[] {
  const runs: Run<C>[] = [];
  for (const [place, call] of calls.entries()) {
    const run = runs.findLast(([first]) => operation.sameTerms(first.call, call));
    if (run === undefined) runs.push([{ call, place }]);
    else run.push({ call, place });
  }
  return runs;
}

/** The replies to the calls, in the calls' order. */
export function repliesTo<C extends Call, R>(
  { entries }: ScriptCall<C>,
  parts: readonly ReplyPart[],
  operation: Operation<C, R>,
): R[] {
  const replies: R[] = [];
  for (const [i, { call, place }] of entries.entries()) {
    const part = parts[i];
    if (part === undefined || parts.length !== entries.length) {
      throw new UnexpectedReplyError(operation.script.name, `${parts.length} of ${entries.length}`);
    }
    replies[place] = operation.parse(part, call);
  }
  return replies;
}
