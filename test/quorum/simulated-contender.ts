import type { AcquireVerdict } from '../../src/backend.js';
import type { ManualClock } from '../../src/index.js';
import type { QuorumSettings } from '../../src/quorum/quorum.js';
import { QuorumBackend } from '../../src/quorum/quorum-backend.js';
import type { QuorumNode } from '../../src/quorum/quorum-node.js';

const KEY = { prefix: 'redsem', name: 'simulated' };
const TTL = 1000;

/** How long a ticket is believed to be held after a call was sent: what `Lease` takes off is taken off. */
const BELIEF = TTL * 0.99 - 2;

/** One slot that somebody counts on. */
export interface Belief {
  readonly id: string;
  readonly slot: number;
  readonly token: number;
  /** When the call for it was made. */
  readonly asked: number;
  readonly from: number;
  until: number;
}

export interface World {
  readonly clock: ManualClock;
  readonly nodes: readonly QuorumNode[];
  readonly limit: number;
  readonly random: () => number;
  readonly beliefs: Belief[];
  /** Aborts when the simulation is over. */
  readonly end: AbortSignal;
}

/** A process that takes permits, holds them for a while, mostly gives them back, and takes the next. */
export class SimulatedContender {
  readonly #world: World;
  readonly #backend: QuorumBackend;
  readonly #client: string;

  constructor(world: World, client: string, settings: QuorumSettings = {}) {
    this.#world = world;
    this.#client = client;
    this.#backend = new QuorumBackend(world.nodes, world.clock, settings);
  }

  async run(): Promise<void> {
    const { random, limit, end } = this.#world;
    for (let round = 0; !end.aborted; round += 1) {
      const permits = random() < 0.2 && limit > 1 ? 2 : 1;
      const id = `${this.#client}.${round}${permits === 1 ? '' : '.2'}`;
      const held = await this.#acquire(id, permits);
      if (held !== undefined) await this.#hold(id, held);
      void this.#backend.release({ ...this.#call, ids: [id] }).catch(() => undefined);
      await this.#pass(random() * 50);
    }
  }

  async #acquire(id: string, permits: number): Promise<Belief[] | undefined> {
    const { clock, random, end, beliefs } = this.#world;
    for (let tries = 0; tries < 20 && !end.aborted; tries += 1) {
      const asked = clock.monotonic();
      const verdict = await this.#try(id, permits);
      const from = clock.monotonic();
      if (verdict?.kind === 'granted' && from < asked + BELIEF) {
        const { slots, fencingToken: token } = verdict;
        const until = asked + BELIEF;
        const held = slots.map((slot) => ({ id, slot, token, asked, from, until }));
        beliefs.push(...held);
        return held;
      }
      await this.#pass(10 + random() * 100);
    }
    return undefined;
  }

  async #try(id: string, permits: number): Promise<AcquireVerdict | undefined> {
    const requests = [{ id, permits, wait: true, arrival: undefined }];
    const call = { ...this.#call, ttl: TTL, label: 'label', notAfter: undefined, requests };
    const reply = await this.#backend.acquire(call).catch(() => undefined);
    return reply?.verdicts[0];
  }

  async #hold(id: string, held: readonly Belief[]): Promise<void> {
    const { clock, random } = this.#world;
    await this.#pass(random() * 400);
    if (random() < 0.5) {
      const sent = clock.monotonic();
      const call = { ...this.#call, ttl: TTL, ids: [id] };
      const reply = await this.#backend.extend(call).catch(() => undefined);
      for (const belief of held) {
        if (clock.monotonic() >= belief.until) continue;
        if (reply?.extended[0] === true) belief.until = sent + BELIEF;
        else if (reply !== undefined) belief.until = clock.monotonic();
      }
      await this.#pass(random() * 200);
    }
    for (const belief of held) belief.until = Math.min(belief.until, clock.monotonic());
  }

  get #call() {
    return { key: KEY, limit: this.#world.limit, client: this.#client };
  }

  #pass(duration: number): Promise<void> {
    return new Promise((resolve) => this.#world.clock.schedule(resolve, duration));
  }
}
