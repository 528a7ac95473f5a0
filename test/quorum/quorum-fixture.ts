import type { AcquireVerdict } from '../../src/backends/backend.js';
import { ManualClock } from '../../src/index.js';
import type { QuorumSettings } from '../../src/backends/quorum/quorum.js';
import type { HoldRequest } from '../../src/backends/quorum/quorum-node.js';
import { QuorumBackend } from '../../src/backends/quorum/quorum-backend.js';
import { RandomNumbers } from '../support/random-numbers.js';
import { AT_ONCE, type Fate, TroubledNode } from './troubled-node.js';
import { only } from '../support/only.js';
import { parseTicketId } from '../../src/backends/ticket-id.js';

export const KEY = { prefix: 'redsem', name: 'fixture' };
const LETTERS = 'abcdef';

/** Nodes in memory, and contenders that each have their own backend. */
export class QuorumFixture {
  /** Moves only when a test advances it; its chance repeats. */
  readonly clock = Object.assign(new ManualClock(1_700_000_000_000), {
    random: () => this.#numbers.next(),
  });
  readonly nodes: readonly TroubledNode[];
  readonly ttl: number;
  /** The warnings of each process that joined. */
  readonly warnings = new Map<string, string[]>();
  readonly #numbers = new RandomNumbers(1);
  readonly #backends = new Map<string, QuorumBackend>();
  #limit: number;

  constructor(nodes: number, limit: number, ttl = 1000) {
    this.nodes = Array.from({ length: nodes }, () => new TroubledNode(this.clock));
    this.ttl = ttl;
    this.#limit = limit;
  }

  node(index: number): TroubledNode {
    const node = this.nodes[index];
    if (node === undefined) throw new Error(`no node ${index}`);
    return node;
  }

  /**
   * A process that lists these nodes, by their letters. A process that never joins lists them all,
   * without names.
   */
  join(client: string, lists: readonly string[], settings: QuorumSettings = {}): void {
    this.nodes.forEach(({ memory }, i) => (memory.name = LETTERS[i]));
    const letters = [...new Set(lists.join(''))];
    const nodes = letters.map((letter) => this.node(LETTERS.indexOf(letter)));
    const places = lists.map((list) => list.split('').map((letter) => letters.indexOf(letter)));
    const backend = new QuorumBackend(nodes, this.clock, { lists: places, ...settings });
    const warnings: string[] = [];
    backend.onHazard(KEY, (message) => warnings.push(message));
    this.warnings.set(client, warnings);
    this.#backends.set(client, backend);
  }

  backend(client: string): QuorumBackend {
    const backend = this.#backends.get(client) ?? new QuorumBackend(this.nodes, this.clock);
    this.#backends.set(client, backend);
    return backend;
  }

  /** One try, with as much time as it wants. Ids are `client.number` or `client.number.permits`. */
  async tryFor(id: string, wait = false): Promise<AcquireVerdict> {
    const permits = parseTicketId(id)?.permits ?? 1;
    const requests = [{ id, permits, wait, arrival: undefined }];
    const call = { ...this.#call(id), label: `label of ${id}`, notAfter: undefined, requests };
    const { verdicts } = await this.during(only(this.backend(call.client).acquire([call])));
    return only(Promise.resolve(verdicts));
  }

  /** As `tryFor`, which must be granted. */
  async take(id: string) {
    const verdict = await this.tryFor(id);
    if (verdict.kind !== 'granted') throw new Error(`${id} is ${verdict.kind}`);
    return verdict;
  }

  async extend(...ids: string[]): Promise<readonly boolean[]> {
    const call = this.#call(ids[0] ?? '');
    const extending = only(this.backend(call.client).extend([{ ...call, ids }]));
    return (await this.during(extending)).extended;
  }

  async release(id: string): Promise<boolean> {
    const call = this.#call(id);
    const releasing = only(this.backend(call.client).release([{ ...call, ids: [id] }]));
    return (await this.during(releasing)).released[0] === true;
  }

  inspect() {
    return this.during(this.backend('observer').inspect({ key: KEY, limit: this.#limit }));
  }

  /** Ids of the tickets that each node holds. */
  async holders(): Promise<string[][]> {
    const lists = await Promise.all(this.nodes.map(({ memory }) => memory.list(KEY)));
    return lists.map(({ tickets }) => tickets.map(({ id }) => id).toSorted());
  }

  /** Time passes until `work` is settled; timers that are due at once need no time. */
  async during<T>(work: Promise<T>): Promise<T> {
    const settled = new AbortController();
    const end = (): void => settled.abort();
    work.then(end, end);
    await this.clock.advance(0);
    for (let passed = 0; passed < 60_000 && !settled.signal.aborted; passed += 1) {
      await this.clock.advance(1);
    }
    return work;
  }

  /** Only these nodes answer at once; the other nodes do as `other` does. */
  only(letters: string, other: () => Fate): void {
    for (const [i, node] of this.nodes.entries()) {
      node.fate = letters.includes(LETTERS.charAt(i)) ? () => AT_ONCE : other;
    }
  }

  #call(id: string) {
    return { key: KEY, limit: this.#limit, client: id.split('.')[0] ?? '', ttl: this.ttl };
  }
}

/** A node's part of a ticket that never has a majority. */
export function stray() {
  const where = { slots: [0], token: 0, label: '' };
  const request: HoldRequest = { id: 'x.1', mode: 'take', attempt: 1, permits: 1, ...where };
  return { key: KEY, limit: 3, ttl: 30_000, notAfter: undefined, requests: [request] };
}

/** The same tickets on three nodes. */
export function onAll(ids: readonly string[]): string[][] {
  return [[...ids], [...ids], [...ids]];
}
