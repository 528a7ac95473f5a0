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

/** Calls of one client and one prefix, as one script call takes them. */
export interface ScriptCall<C> {
  readonly keys: readonly string[];
  readonly args: readonly string[];
  /** In the order of the reply's parts, and where each is in the list of all. */
  readonly calls: readonly C[];
  readonly places: readonly number[];
}

/** Calls with equal terms. */
interface Run<C> {
  readonly calls: C[];
  readonly places: number[];
}

/**
 * Calls with equal terms travel in one run, which names the terms once; all of a prefix in one
 * script call, which names one inbox.
 * @param sign comes before the inbox channel, see `acquire.lua`
 */
export function scriptCalls<C extends Call>(
  calls: readonly C[],
  operation: Operation<C, unknown>,
  sign = '',
): readonly ScriptCall<C>[] {
  const byPrefix = new Map<string, Run<C>[]>();
  for (const [place, call] of calls.entries()) {
    const { prefix } = call.key;
    let runs = byPrefix.get(prefix);
    if (runs === undefined) byPrefix.set(prefix, (runs = []));
    const run = runFor(call, runs, operation);
    run.calls.push(call);
    run.places.push(place);
  }
  return [...byPrefix].map(([prefix, runs]) =>
    scriptCall(sign + inboxChannels(prefix), runs, operation),
  );
}

/** The last that has its terms, or a new one. Calls of one semaphore stay in their order. */
function runFor<C extends Call>(call: C, runs: Run<C>[], operation: Operation<C, unknown>): Run<C> {
  const { name } = call.key;
  // Mostly there is one, and no copy of a list of one is made: each call passes here.
  for (const run of runs.length > 1 ? runs.toReversed() : runs) {
    const [first] = run.calls;
    if (first !== undefined && operation.sameTerms(first, call)) return run;
    if (run.calls.some(({ key }) => key.name === name)) break;
  }
  const run = { calls: [], places: [] };
  runs.push(run);
  return run;
}

/** `inbox`: the start of the caller's inbox channel. */
function scriptCall<C extends Call>(
  inbox: string,
  runs: readonly Run<C>[],
  operation: Operation<C, unknown>,
): ScriptCall<C> {
  const keys: string[] = [];
  const args: string[] = [];
  for (const { calls } of runs) {
    const [first] = calls;
    if (first === undefined) continue;
    args.push(args.length > 0 ? '' : inbox + first.client, ...operation.terms(first));
    for (const call of calls) {
      keys.push(...keysOf(call.key));
      args.push(operation.argument(call));
    }
  }
  const [only, ...others] = runs;
  if (only !== undefined && others.length === 0) return { keys, args, ...only };
  const calls = runs.flatMap((run) => run.calls);
  return { keys, args, calls, places: runs.flatMap((run) => run.places) };
}

/** Puts the reply to each call of a script call in its place among the replies to all. */
export function readReplies<C extends Call, R>(
  { calls, places }: ScriptCall<C>,
  parts: readonly ReplyPart[],
  operation: Operation<C, R>,
  replies: R[],
): void {
  if (parts.length !== calls.length) {
    throw new UnexpectedReplyError(operation.script.name, `${parts.length} of ${calls.length}`);
  }
  let i = 0;
  for (const part of parts) {
    const call = calls[i];
    const place = places[i];
    if (call !== undefined && place !== undefined) replies[place] = operation.parse(part, call);
    i += 1;
  }
}
