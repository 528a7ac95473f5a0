import { expect } from 'chai';

import type { SemaphoreKey } from '../../src/backend.js';
import type { HandleData, SemaphoreOptions } from '../../src/index.js';
import { Semaphore } from '../../src/index.js';
import type { TestServer } from '../support/redis-server.js';
import { eventually } from '../support/eventually.js';
import type { KeyView, Passage, Place, Target } from './row.js';

const DEFAULT_PREFIX = 'redsem';
let names = 0;

/** Enough of a handle to find its ticket. */
type Named = Pick<HandleData, 'name' | 'id'>;

/** What one case works with: names of its own, semaphores that are closed after it, time, and the data underneath. */
export class Scope {
  readonly name = freshName();
  readonly #place: Place;
  readonly #passage: Passage | undefined;
  readonly #semaphores: Semaphore[] = [];
  #observer: Semaphore | undefined;
  readonly #used = new Map<string, SemaphoreKey>();

  constructor(place: Place, passage: Passage | undefined) {
    this.#place = place;
    this.#passage = passage;
  }

  get target(): Target {
    return this.#place.target;
  }

  get keys(): KeyView {
    return present(this.#place.keys, 'keys');
  }

  get server(): TestServer {
    return present(this.#place.server, 'server');
  }

  /** In the first process. Limit 1 unless told otherwise. */
  semaphore(options: Partial<SemaphoreOptions> = {}, name: string = this.name): Semaphore {
    return this.#make(this.#place.target, options, name);
  }

  /** In another process: over a client of its own. */
  elsewhere(options: Partial<SemaphoreOptions> = {}, name: string = this.name): Semaphore {
    return this.#make(this.#place.other, options, name);
  }

  freshName(): string {
    return freshName();
  }

  removeTicket(handle: Named): Promise<void> {
    return this.#place.tickets.remove(this.#keyOf(handle), handle.id);
  }

  /** Leaves a ticket so many milliseconds to live, unknown to its holder. */
  ageTicket(handle: Named, left: number): Promise<void> {
    return this.#place.tickets.age(this.#keyOf(handle), handle.id, left);
  }

  /** The keys of this case's semaphores by their last part (`tickets`, `meta`, ...), with their time to live. */
  async ownKeys(name: string = this.name): Promise<ReadonlyMap<string, number>> {
    const keys = await this.keys.list(`${DEFAULT_PREFIX}:{${name}}:`);
    return new Map([...keys].map(([key, left]) => [partOf(key), left]));
  }

  ownKey(part: string): string {
    return `${DEFAULT_PREFIX}:{${this.name}}:${part}`;
  }

  /** Resolves once so many requests wait in the queue of this case's semaphore. */
  async untilWaiting(count: number): Promise<void> {
    const observer = (this.#observer ??= this.elsewhere());
    await eventually(async () => {
      expect(await observer.inspect()).to.have.property('waiting', count);
    });
  }

  /** With the ability 'time', as all that follows. */
  now(): number {
    return this.#time().now();
  }

  get late(): number {
    return this.#time().late;
  }

  pass(duration: number): Promise<void> {
    return this.#time().pass(duration);
  }

  /** The event loop is blocked for so long. */
  stall(duration: number): void {
    this.#time().stall(duration);
  }

  /** What `promise` gives, while time passes where it is ours to move. Without the ability 'time': whenever it comes. */
  within<T>(duration: number, promise: Promise<T>): Promise<T> {
    return this.#passage === undefined ? promise : this.#passage.within(duration, promise);
  }

  /** Closes what was made; nothing of it may stay behind. */
  async end(): Promise<void> {
    await Promise.all(this.#semaphores.map((semaphore) => semaphore.close()));
  }

  async assertNothingLeft(): Promise<void> {
    await eventually(async () => {
      for (const key of this.#used.values()) await this.#assertGone(key);
    });
  }

  async #assertGone({ prefix, name }: SemaphoreKey): Promise<void> {
    if (this.#place.keys === undefined) {
      const fresh = new Semaphore(this.#place.target, name, { limit: 1, prefix });
      const { held, waiting } = await fresh.inspect();
      await fresh.close();
      expect({ held, waiting }, `left of ${JSON.stringify(name)}`).to.deep.equal({
        held: 0,
        waiting: 0,
      });
      return;
    }
    const start = prefix === DEFAULT_PREFIX ? `${prefix}:{${name}}:` : `${prefix}:`;
    const left = [...(await this.#place.keys.list(start)).keys()];
    expect(left.filter((key) => partOf(key) !== 'meta')).to.deep.equal([]);
  }

  #time(): Passage {
    return present(this.#passage, 'time');
  }

  #make(target: Target, options: Partial<SemaphoreOptions>, name: string): Semaphore {
    const semaphore = new Semaphore(target, name, { limit: 1, ...options });
    this.#semaphores.push(semaphore);
    const key = { prefix: options.prefix ?? DEFAULT_PREFIX, name };
    this.#used.set(JSON.stringify(key), key);
    return semaphore;
  }

  #keyOf({ name }: Named): SemaphoreKey {
    return { prefix: DEFAULT_PREFIX, name };
  }
}

function freshName(): string {
  names += 1;
  return `case-${names}`;
}

function partOf(key: string): string {
  return key.slice(key.lastIndexOf(':') + 1);
}

function present<T>(value: T | undefined, ability: string): T {
  if (value === undefined) throw new Error(`a case that uses this needs the ability '${ability}'`);
  return value;
}
