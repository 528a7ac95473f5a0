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

/** Calls with equal terms. */
type Run<C> = [Entry<C>, ...Entry<C>[]];

/**
 * Calls with equal terms travel in one run, which names the terms once; all of a prefix in one script call, which names one inbox.
 * @param sign stands before the inbox channel, see `acquire.lua`
 */
export function scriptCalls<C extends Call>(
  calls: readonly C[],
  operation: Operation<C, unknown>,
  sign = '',
): readonly ScriptCall<C>[] {
  const byPrefix = new Map<string, Runs<C>>();
  for (const [place, call] of calls.entries()) {
    const { prefix } = call.key;
    let runs = byPrefix.get(prefix);
    if (runs === undefined) byPrefix.set(prefix, (runs = new Runs(operation)));
    runs.add({ call, place });
  }
  return [...byPrefix].map(([prefix, { all }]) =>
    scriptCall(sign + inboxChannels(prefix), all, operation),
  );
}

class Runs<C extends Call> {
  readonly all: Run<C>[] = [];
  readonly #names = new Set<string>();
  readonly #operation: Operation<C, unknown>;

  constructor(operation: Operation<C, unknown>) {
    this.#operation = operation;
  }

  /** Calls of one semaphore stay in their order. */
  add(entry: Entry<C>): void {
    const { call } = entry;
    const isFirst = !this.#names.has(call.key.name);
    this.#names.add(call.key.name);
    const candidates = isFirst ? this.all : this.all.slice(-1);
    const run = candidates.findLast(([first]) => this.#operation.sameTerms(first.call, call));
    if (run === undefined) this.all.push([entry]);
    else run.push(entry);
  }
}

/** `inbox`: the start of the caller's inbox channel. */
function scriptCall<C extends Call>(
  inbox: string,
  runs: readonly Run<C>[],
  operation: Operation<C, unknown>,
): ScriptCall<C> {
  const keys: string[] = [];
  const args: string[] = [];
  const entries: Entry<C>[] = [];
  for (const run of runs) {
    const [{ call: first }] = run;
    args.push(entries.length > 0 ? '' : inbox + first.client);
    args.push(...operation.terms(first));
    for (const entry of run) {
      keys.push(...keysOf(entry.call.key));
      args.push(operation.argument(entry.call));
      entries.push(entry);
    }
  }
  return { keys, args, entries };
}

/** Puts the reply to each call of a script call in its place among the replies to all. */
export function readReplies<C extends Call, R>(
  { entries }: ScriptCall<C>,
  parts: readonly ReplyPart[],
  operation: Operation<C, R>,
  replies: R[],
): void {
  for (const [i, { call, place }] of entries.entries()) {
    const part = parts[i];
    if (part === undefined || parts.length !== entries.length) {
      throw new UnexpectedReplyError(operation.script.name, `${parts.length} of ${entries.length}`);
    }
    replies[place] = operation.parse(part, call);
  }
}
