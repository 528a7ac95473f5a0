import { once } from 'node:events';
import { expect } from 'chai';

import type { SemaphoreKey } from '../../src/backends/backend.js';
import type {
  CompositeHandle,
  Handle,
  HandleData,
  KeyedMutexOptions,
  SemaphoreOptions,
  SemaphoreState,
} from '../../src/index.js';
import { backendOf } from '../../src/clients.js';
import { HandleLostError, KeyedMutex, Semaphore } from '../../src/index.js';
import { eventually } from '../support/eventually.js';
import { KeepingSemaphore } from '../support/keeping-semaphore.js';
import type { Ability, KeyView, Place, Target } from './row.js';

const DEFAULT_PREFIX = 'redsem';
/** Pauses so short that the rows which can only poll need no patience. */
const retry = { min: 5, max: 20 };
let names = 0;

type Ticket = Pick<HandleData, 'name' | 'id'>;

/**
 * The tools of one case: fresh names, semaphores that are closed after it, time, and the data
 * underneath.
 */
export class Scope {
  readonly name = this.freshName();
  /** A case uses only the parts that its group needs. */
  readonly place: Required<Place>;
  readonly #toClose: { close(): Promise<void> }[] = [];
  readonly #used = new Map<string, SemaphoreKey>();

  constructor(place: Place) {
    this.place = place as Required<Place>;
  }

  /** In the first process. Limit 1 and short pauses unless `options` say otherwise. */
  semaphore(options: Partial<SemaphoreOptions> = {}, name: string = this.name): Semaphore {
    return this.#make(this.place.target, options, name);
  }

  /** In another process: over another client. */
  elsewhere(options: Partial<SemaphoreOptions> = {}, name: string = this.name): Semaphore {
    return this.#make(this.place.other, options, name);
  }

  /** One in the first process, one in another. */
  pair(options: Partial<SemaphoreOptions> = {}, name: string = this.name): [Semaphore, Semaphore] {
    return [this.semaphore(options, name), this.elsewhere(options, name)];
  }

  /** A keyed mutex in each of the two processes. */
  keyed(options: KeyedMutexOptions = {}): [KeyedMutex, KeyedMutex] {
    const all = { name: this.name, retry, ...options };
    return this.inBoth((at) => new KeyedMutex(at, all));
  }

  /** An object in each of the two processes. */
  inBoth<Face extends { close(): Promise<void> }>(make: (target: Target) => Face): [Face, Face] {
    const faces: [Face, Face] = [make(this.place.target), make(this.place.other)];
    this.#toClose.push(...faces);
    return faces;
  }

  freshName(): string {
    names += 1;
    return `case-${names}`;
  }

  /** As an eviction or an operator's ZREM would, unknown to its holder. */
  async removeTicket({ name, id }: Ticket): Promise<void> {
    await backendOf(this.place.target).release([{ ...this.#tampering(name), ids: [id] }]);
  }

  /** Leaves a ticket `left` milliseconds to live, unknown to its holder. 0: none. */
  async ageTicket({ name, id }: Ticket, left: number): Promise<void> {
    await backendOf(this.place.target).extend([{ ...this.#tampering(name), ttl: left, ids: [id] }]);
  }

  /**
   * The keys of this case's semaphores by their last part (`tickets`, `info`, ...), with their time
   * to live.
   */
  async ownKeys(name: string = this.name): Promise<ReadonlyMap<string, number>> {
    const keys = await this.place.keys(`${DEFAULT_PREFIX}:{${name}}:`);
    return new Map([...keys].map(([key, left]) => [partOf(key), left]));
  }

  /** As the server knows it. */
  ownKey(part: string): string {
    return `${this.place.keyPrefix ?? ''}${DEFAULT_PREFIX}:{${this.name}}:${part}`;
  }

  /** Resolves once `count` requests wait in the queue of this case's semaphore. */
  async untilWaiting(count: number): Promise<void> {
    await untilState(this.elsewhere(), { waiting: count });
  }

  /** Closes every semaphore; nothing of it may stay behind. */
  async end(): Promise<void> {
    await Promise.all(this.#toClose.map((each) => each.close()));
  }

  async assertNothingLeft(): Promise<void> {
    const { keys, target }: Place = this.place;
    const used = [...this.#used.values()];
    // All names of a separate prefix are looked at together.
    const startOf = ({ prefix, name }: SemaphoreKey): string =>
      prefix === DEFAULT_PREFIX ? `${prefix}:{${name}}:` : `${prefix}:`;
    await eventually(async () => {
      if (keys === undefined) for (const key of used) await assertIdle(target, key);
      else for (const start of new Set(used.map(startOf))) await assertNoKeys(keys, start);
    });
  }

  /** With a limit of 0 no waiter gets a permit that the call frees. */
  #tampering(name: string) {
    return { key: { prefix: DEFAULT_PREFIX, name }, limit: 0, client: 'tampering' };
  }

  #make(target: Target, options: Partial<SemaphoreOptions>, name: string): Semaphore {
    const semaphore = new KeepingSemaphore(target, name, { limit: 1, retry, ...options });
    this.#toClose.push(semaphore);
    const key = { prefix: options.prefix ?? DEFAULT_PREFIX, name };
    this.#used.set(JSON.stringify(key), key);
    return semaphore;
  }
}

export type Run = (scope: Scope) => Promise<void> | void;

/** Cases that need the same abilities of a row; `define` gives each to `it`. */
export function caseGroup(
  title: string,
  needs: readonly Ability[],
  define: (it: (title: string, run: Run) => void) => void,
) {
  return { title, needs, define };
}

export type CaseGroup = ReturnType<typeof caseGroup>;

export function untilLost(handle: Handle | CompositeHandle): Promise<HandleLostError> {
  return once(handle, 'lost').then(([error]) => error as HandleLostError);
}

/** The loss is known everywhere, by one error, and there is nothing to give back. */
export async function expectLost(handle: Handle, error: unknown, reason: string): Promise<void> {
  expect(error).to.be.instanceOf(HandleLostError);
  const { name: semaphore, id: ticketId } = handle;
  expect(error).to.include({ code: 'HANDLE_LOST', reason, semaphore, ticketId });
  expect(handle).to.include({ held: false, expiresIn: 0 });
  expect(handle.signal.reason).to.equal(error);
  expect(thrownBy(() => handle.assertHeld())).to.equal(error);
  expect(await handle.release()).to.equal(false);
}

export async function untilState(semaphore: Semaphore, state: Partial<SemaphoreState>) {
  await eventually(async () => {
    expect(await semaphore.inspect(), semaphore.name).to.include(state);
  });
}

/** The semaphore under a key of the keyed mutex of a case. */
export function underKey(scope: Scope, key: string, elsewhere = true): Semaphore {
  const name = `keyed:${scope.name}:${key}`;
  return elsewhere ? scope.elsewhere({}, name) : scope.semaphore({}, name);
}

/** Resolves once each key, a letter, has `held` holders and no waiter. */
export async function untilHeld(scope: Scope, keys: string, held: number): Promise<void> {
  for (const key of keys) await untilState(underKey(scope, key), { held, waiting: 0 });
}

/** What `act` throws, at once. */
export function thrownBy(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
}

async function assertIdle(target: Target, { prefix, name }: SemaphoreKey): Promise<void> {
  await using fresh = new Semaphore(target, name, { limit: 1, prefix });
  expect(await fresh.inspect(), `left of ${name}`).to.include({ held: 0, waiting: 0 });
}

async function assertNoKeys(keys: KeyView, start: string): Promise<void> {
  const left = [...(await keys(start))];
  // What repeated calls must know ends by itself.
  const stays = ([key, life]: [string, number]): boolean =>
    partOf(key) === 'info' || (/}:(?:change|revoked):/.test(key) && life > 0);
  expect(left.filter((one) => !stays(one))).to.deep.equal([]);
}

function partOf(key: string): string {
  return key.slice(key.lastIndexOf(':') + 1);
}
