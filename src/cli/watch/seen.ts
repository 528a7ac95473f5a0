import type { HolderState } from '../../index.js';
import type { HistoryPoint } from '../../sampler/history.js';
import type { Sampler } from '../../sampler/sampler.js';
import type { WatchedSemaphore } from '../../sampler/watched-semaphore.js';
import type { SemaphoreSummary } from '../operator.js';
import { unreadable } from '../status-table.js';

/** What `redsem watch` reads of the sampler, which is the same as that of the web view. */
export type Looks = Pick<
  Sampler,
  'semaphores' | 'semaphore' | 'history' | 'rate' | 'watch' | 'reachable' | 'lastOkAt' | 'trouble'
>;

/** A semaphore as the last look found it; holders and waiters only after a close look. */
export interface Watched extends SemaphoreSummary {
  readonly isClose: boolean;
  /** The longest wait, in milliseconds; undefined where no request waits. */
  readonly oldestWait: number | undefined;
  readonly grantsPerSecond: number;
  /** The last 15 minutes, oldest first; only after a close look. */
  readonly steps: readonly HistoryPoint[];
}

/** What the looks have found, at one semaphore or at all of them. */
export interface Seen {
  readonly watched: readonly Watched[];
  /** On the wall clock; undefined before the first look. */
  readonly seenAt: number | undefined;
  /** Whether the last look failed, so that the numbers are older. */
  readonly failed: boolean;
  /** Why the last look failed, or which semaphores cannot be read. */
  readonly trouble: string | undefined;
}

export function seenOf(looks: Looks, name: string | undefined): Seen {
  const { lastOkAt: seenAt, reachable, trouble } = looks;
  const all = name === undefined ? looks.semaphores : [looks.semaphore(name) ?? []].flat();
  const watched = all.flatMap((each) => (each.error === undefined ? watchedOf(looks, each) : []));
  const failed = seenAt !== undefined && !reachable;
  const damaged = all.flatMap(({ name: its, error }) =>
    error === undefined ? [] : `${JSON.stringify(its)} ${unreadable({ name: its, error })}`,
  );
  // The list of names does not matter to a semaphore whose name is known.
  const ofList = name === undefined && trouble !== undefined ? [trouble] : [];
  const troubles = [...ofList, ...damaged].join('; ');
  return { watched, seenAt, failed, trouble: failed ? trouble : troubles || undefined };
}

function watchedOf(looks: Looks, semaphore: WatchedSemaphore): Watched {
  const { name, detail, summary } = semaphore;
  const { limit = null, held, waiting, oldestWait } = summary;
  const { holders = [], waiters = [] } = detail ?? {};
  return {
    name,
    limit,
    held,
    waiting,
    holders,
    waiters,
    oldestWait,
    isClose: detail !== undefined,
    grantsPerSecond: looks.rate(semaphore) ?? 0,
    // The list may be long, and shows no steps.
    steps: detail === undefined ? [] : looks.history(name),
  };
}

/** Remembers how long tickets had left, which shows the tickets that are no longer extended. */
export class TicketTimes {
  /** By ticket id: the longest time left at any look, in milliseconds. */
  #longest: ReadonlyMap<string, number> = new Map();

  see(holders: readonly HolderState[]): void {
    const before = this.#longest;
    this.#longest = new Map(
      holders.map(({ id, expiresIn }) => [id, Math.max(expiresIn, before.get(id) ?? 0)]),
    );
  }

  /** Whether a ticket has less than a quarter of the time left that it had before. */
  expiresSoon({ id, expiresIn }: HolderState): boolean {
    return expiresIn < (this.#longest.get(id) ?? 0) / 4;
  }
}
