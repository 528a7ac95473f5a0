import { expect } from 'chai';

import { WAITER_LEASE } from '../../src/backend.js';
import { type Handle, isRedsemError, Semaphore } from '../../src/index.js';
import { ManualClock } from '../../src/manual-clock.js';
import { firstId } from '../../src/ticket-id.js';
import { type Condition, FaultyProcess } from './faulty-process.js';
import { type Loss, LossyServer } from './lossy-server.js';

export const PROCESSES = 3;
const TTL = 1500;
const KEY = { prefix: 'redsem', name: 'world' };
/** Every request fits into it. */
const LARGEST = 4;

interface Process {
  readonly backend: FaultyProcess;
  semaphore: Semaphore;
  crashed: boolean;
}

interface Pending {
  readonly what: string;
  readonly process: Process;
  readonly controller: AbortController;
  /** Monotonic time by which it must have settled. */
  readonly deadline: number;
}

/** A handle and what it told of itself. */
interface Kept {
  readonly handle: Handle;
  lost: number;
  released: boolean;
  /** Monotonic time. */
  readonly since: number;
  /** Monotonic time at which its ticket was first seen to be gone while it did not know. */
  goneAt: number | undefined;
}

/**
 * Several processes with one semaphore on a server that may lose its data, each behind a connection that fails as it is
 * told to. What they do is checked against what the server knows.
 */
export class World {
  readonly clock = new ManualClock(1_700_000_000_000);
  readonly processes: readonly Process[];
  readonly kept: Kept[] = [];
  readonly #server = new LossyServer(this.clock);
  readonly #pending = new Set<Pending>();
  /** First ids of tickets that `revoke` or `adopt` was called for. */
  readonly #taken = new Set<string>();
  readonly #tokens = new Set<number>();
  readonly #failures: string[] = [];
  readonly #limit: number;
  /** The largest limit since the last look, and what was held then. */
  #highestLimit: number;
  #heldBefore = 0;
  /** Whether any connection ever failed. */
  #faulty = false;
  /** Monotonic time of the last loss of data. */
  #lossAt = -Infinity;

  constructor(limit: number) {
    this.#limit = limit;
    this.#highestLimit = limit;
    this.processes = Array.from({ length: PROCESSES }, (): Process => {
      const backend = new FaultyProcess(this.#server);
      return { backend, semaphore: this.#open(backend), crashed: false };
    });
  }

  get pending(): readonly Pending[] {
    return [...this.#pending];
  }

  acquire(process: Process, permits: number, timeout: number | undefined): void {
    const { semaphore } = process;
    const patience = timeout === undefined ? Infinity : timeout === 0 ? TTL : timeout;
    this.#follow(process, `acquire(${timeout}) of ${permits}`, patience, ({ signal }) => {
      const options = timeout === undefined ? { permits, signal } : { permits, signal, timeout };
      return semaphore.acquire(options).then((handle) => this.#keep(handle));
    });
  }

  tryAcquire(process: Process, permits: number): void {
    this.#follow(process, `tryAcquire of ${permits}`, TTL, async () => {
      const handle = await process.semaphore.tryAcquire({ permits });
      if (handle !== null) this.#keep(handle);
    });
  }

  /** A handle is released at most once by its own process. */
  release(kept: Kept): void {
    kept.released = true;
    this.#follow(this.#anyProcess(), 'release', TTL, () => kept.handle.release());
  }

  extend({ handle }: Kept): void {
    this.#follow(this.#anyProcess(), 'extend', TTL, () => handle.extend());
  }

  adopt(process: Process, { handle }: Kept): void {
    this.#taken.add(firstId(handle.id));
    this.#follow(process, 'adopt', TTL, async () => {
      this.#keep(await process.semaphore.adopt(handle.toJSON()));
    });
  }

  revoke(process: Process, { handle }: Kept): void {
    this.#taken.add(firstId(handle.id));
    this.#follow(process, 'revoke', TTL, () => process.semaphore.revoke(handle.id));
  }

  setLimit(process: Process, limit: number): void {
    this.#highestLimit = Math.max(this.#highestLimit, limit);
    this.#follow(process, `setLimit(${limit})`, TTL, () => process.semaphore.setLimit(limit));
  }

  reopen(process: Process): void {
    const { semaphore } = process;
    this.#follow(process, 'close', 2 * TTL, () => semaphore.close());
    process.semaphore = this.#open(process.backend);
  }

  become(process: Process, condition: Condition): Promise<void> {
    this.#faulty = true;
    return process.backend.become(condition);
  }

  /** One of its calls that are late is served, before others that were sent earlier, perhaps. */
  serveLate(process: Process, pick: number): Promise<void> {
    return process.backend.serveLate(pick);
  }

  async lose(what: Loss): Promise<void> {
    await this.#server.lose(what, KEY, this.#limit);
    this.#lossAt = this.clock.monotonic();
    this.#highestLimit = Math.max(this.#highestLimit, this.#limit);
  }

  /** What must hold at any moment; `timersRan`: no stall hides what is overdue. */
  async look(timersRan: boolean): Promise<void> {
    if (timersRan) await this.clock.advance(0);
    expect(this.#failures, 'undocumented outcomes').to.deep.equal([]);
    const { held, waiting, holders, limit } = await this.#state();
    const slots = holders.flatMap((holder) => holder.slots);
    expect(new Set(slots).size, 'distinct slots').to.equal(held);
    const most = Math.max(this.#highestLimit, this.#heldBefore);
    expect(held, 'permits held').to.be.at.most(most);
    this.#heldBefore = held;
    if (!this.#limitsOnTheirWay()) this.#highestLimit = limit;
    this.#lookAtHandles(holders);
    if (!timersRan) return;
    this.#lookForUntold(holders);
    this.#lookForOverdue();
    if (this.#faulty) return;
    const asking = this.pending.filter(({ what }) => what.startsWith('acquire'));
    expect(waiting, 'requests that nobody waits for').to.be.at.most(asking.length);
  }

  /** Everything works again where nothing crashed: whoever waits gets a permit, and then nothing is left. */
  async end(): Promise<void> {
    for (const process of this.processes) if (!process.crashed) await this.become(process, 'well');
    // An older limit that is still tried again must not come after this one.
    if (this.#limitsOnTheirWay()) await this.clock.advance(TTL);
    const one = this.processes.find(({ crashed }) => !crashed);
    if (one !== undefined) this.setLimit(one, LARGEST);
    await this.look(true);
    await this.clock.advance(Math.max(0, this.#lossAt + TTL - this.clock.monotonic()));
    await this.look(true);
    await this.#serveAll();
    for (const { semaphore, backend } of this.processes) {
      const process = { semaphore, backend, crashed: false };
      this.#follow(process, 'last close', 2 * TTL, () => semaphore.close());
    }
    await this.clock.advance(2 * TTL + WAITER_LEASE);
    await this.look(true);
    expect(
      this.pending.map(({ what }) => what),
      'never settled',
    ).to.deep.equal([]);
    for (const process of this.processes) await this.become(process, 'well');
    await this.clock.advance(2 * TTL + WAITER_LEASE);
    const { held, waiting } = await this.#state();
    expect({ held, waiting }, 'left behind').to.deep.equal({ held: 0, waiting: 0 });
    expect(this.#server.subscriptions, 'subscriptions left').to.equal(0);
    expect(this.clock.timers, 'timers left').to.equal(0);
  }

  /** Holders give their permits back until nobody waits any more. */
  async #serveAll(): Promise<void> {
    const waiting = (): readonly Pending[] =>
      this.pending.filter(({ what, process }) => what.startsWith('acquire') && !process.crashed);
    for (let round = 0; round < 200 && waiting().length > 0; round += 1) {
      for (const kept of this.kept) if (!kept.released) this.release(kept);
      await this.clock.advance(200);
      await this.look(true);
    }
    expect(
      waiting().map(({ what }) => what),
      'never granted',
    ).to.deep.equal([]);
    for (const kept of this.kept) if (!kept.released) this.release(kept);
  }

  /** Whether a limit that was asked for may still come, with an answer that is late or with another try. */
  #limitsOnTheirWay(): boolean {
    if (this.processes.some(({ backend }) => backend.condition !== 'well')) return true;
    return this.pending.some(({ what }) => what.startsWith('setLimit'));
  }

  #lookAtHandles(holders: readonly { id: string; slots: number[]; fencingToken: number }[]): void {
    for (const kept of this.kept) {
      const { handle, lost, released } = kept;
      expect(lost, `times that ${handle.id} was lost`).to.be.at.most(1);
      if (!handle.held) continue;
      expect(released, `${handle.id} is held after release`).to.equal(false);
      const { id, slots, fencingToken } = handle;
      const holder = holders.find((one) => one.id === id);
      // It learns of this with its next extension or a push; else its lease ends by itself.
      if (holder?.fencingToken !== fencingToken && this.#mayBeGone(kept)) continue;
      expect(holder, `the ticket of ${id}, which is sure of it`).to.deep.include({
        slots,
        fencingToken,
      });
    }
  }

  /** Whether its ticket was lost or taken, and that within the last ttl. */
  #mayBeGone(kept: Kept): boolean {
    const now = this.clock.monotonic();
    if (now < this.#lossAt + TTL) return true;
    if (!this.#taken.has(firstId(kept.handle.id))) return false;
    kept.goneAt ??= now;
    return now < kept.goneAt + TTL;
  }

  /** Who holds nothing any more since the data was lost knows. */
  #lookForUntold(holders: readonly { id: string }[]): void {
    if (this.clock.monotonic() < this.#lossAt + TTL) return;
    const ids = new Set(holders.map(({ id }) => id));
    for (const { handle, lost, released, since } of this.kept) {
      if (released || since >= this.#lossAt || ids.has(handle.id)) continue;
      if (this.#taken.has(firstId(handle.id))) continue;
      expect(lost, `times that ${handle.id}, whose ticket is gone, was lost`).to.equal(1);
    }
  }

  #lookForOverdue(): void {
    const now = this.clock.monotonic();
    const overdue = this.pending.filter(({ deadline }) => now > deadline + 50);
    expect(
      overdue.map(({ what }) => what),
      'overdue',
    ).to.deep.equal([]);
  }

  #keep(handle: Handle): void {
    expect(this.#tokens.has(handle.fencingToken), 'a token that was there').to.equal(false);
    this.#tokens.add(handle.fencingToken);
    const since = this.clock.monotonic();
    const kept: Kept = { handle, lost: 0, released: false, since, goneAt: undefined };
    handle.on('lost', () => {
      kept.lost += 1;
      if (kept.released) this.#failures.push(`${handle.id} was lost after its release`);
    });
    this.kept.push(kept);
  }

  #follow(
    process: Process,
    what: string,
    patience: number,
    call: (controller: AbortController) => Promise<unknown>,
  ): void {
    const controller = new AbortController();
    const deadline = this.clock.monotonic() + patience;
    const pending = { what, process, controller, deadline };
    this.#pending.add(pending);
    call(controller).then(
      () => this.#pending.delete(pending),
      (error: unknown) => {
        this.#pending.delete(pending);
        const aborted = controller.signal.aborted && error === controller.signal.reason;
        const tooMany = error instanceof RangeError && error.message.startsWith('permits:');
        if (isRedsemError(error) || aborted || tooMany) return;
        this.#failures.push(`${what}: ${String(error)}`);
      },
    );
  }

  #anyProcess(): Process {
    const [process] = this.processes;
    if (process === undefined) throw new Error('there are no processes');
    return process;
  }

  #open(backend: FaultyProcess): Semaphore {
    const limit = this.#limit;
    // Without jitter, for a failure must come again.
    return new Semaphore(backend, KEY.name, { limit, ttl: TTL, retry: { jitter: false } });
  }

  #state() {
    return this.#server.backend.inspect({ key: KEY, limit: this.#limit });
  }
}
