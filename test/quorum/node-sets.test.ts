import { expect } from 'chai';

import type { AcquireVerdict } from '../../src/backend.js';
import { ManualClock, QuorumError } from '../../src/index.js';
import type { QuorumSettings } from '../../src/quorum/quorum.js';
import { QuorumBackend } from '../../src/quorum/quorum-backend.js';
import { errorOf } from '../support/rejection.js';
import { AT_ONCE, dead, TroubledNode } from './troubled-node.js';

const KEY = { prefix: 'redsem', name: 'sets' };
const TTL = 1000;
const LIMIT = 1;

/** Nodes in memory by name, and processes that list some of them. */
class Nodes {
  readonly clock = new ManualClock(1_700_000_000_000);
  readonly byName: Record<string, TroubledNode> = {};

  constructor() {
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      this.byName[name] = new TroubledNode(this.clock);
      this.node(name).memory.name = name;
    }
  }

  node(name: string): TroubledNode {
    const node = this.byName[name];
    if (node === undefined) throw new Error(`no node ${name}`);
    return node;
  }

  process(names: string, settings: QuorumSettings = {}): Process {
    const nodes = names.split('').map((name) => this.node(name));
    return new Process(this.clock, new QuorumBackend(nodes, this.clock, settings));
  }

  takes(): number {
    return Object.values(this.byName).reduce((sum, { calls }) => sum + calls.take, 0);
  }
}

/** One that lists some nodes. */
class Process {
  static #processes = 0;
  readonly warnings: string[] = [];
  readonly backend: QuorumBackend;
  readonly #clock: ManualClock;
  readonly #client: string;
  #tickets = 0;

  constructor(clock: ManualClock, backend: QuorumBackend) {
    Process.#processes += 1;
    this.#client = `p${Process.#processes}`;
    this.#clock = clock;
    this.backend = backend;
    backend.onHazard(KEY, (message) => this.warnings.push(message));
  }

  /** The id of the ticket that it got. */
  async acquire(): Promise<string> {
    const { id, verdict } = await this.try();
    expect(verdict.kind).to.equal('granted');
    return id;
  }

  async try(): Promise<{ id: string; verdict: AcquireVerdict }> {
    this.#tickets += 1;
    const id = `${this.#client}.${this.#tickets}`;
    const requests = [{ id, permits: 1, wait: false, arrival: undefined }];
    const call = { ...this.#call, ttl: TTL, label: '', notAfter: undefined, requests };
    const { verdicts } = await this.#during(this.backend.acquire(call));
    return { id, verdict: verdicts[0] ?? { kind: 'late' } };
  }

  async extend(id: string): Promise<boolean> {
    const call = { ...this.#call, ttl: TTL, ids: [id] };
    return (await this.#during(this.backend.extend(call))).extended[0] === true;
  }

  async release(id: string): Promise<boolean> {
    const call = { ...this.#call, ids: [id] };
    return (await this.#during(this.backend.release(call))).released[0] === true;
  }

  get #call() {
    return { key: KEY, limit: LIMIT, client: this.#client };
  }

  async #during<T>(work: Promise<T>): Promise<T> {
    const settled = new AbortController();
    const end = (): void => settled.abort();
    work.then(end, end);
    await this.#clock.advance(0);
    while (!settled.signal.aborted) await this.#clock.advance(1);
    return work;
  }
}

/** While a ticket is extended in time, for as long as a few leases last. */
async function refusedFor(
  nodes: Nodes,
  holder: Process,
  ticket: string,
  other: Process,
): Promise<void> {
  for (let i = 0; i < 10; i += 1) {
    const error = await errorOf(other.try(), QuorumError);
    expect(error.message).to.match(/lists the nodes a, b,.* but node \d is in use by .* a, b, c$/);
    expect(await holder.extend(ticket)).to.equal(true);
    await nodes.clock.advance(TTL / 3);
  }
  expect(other.warnings).to.have.length(1);
}

describe('sets of nodes', () => {
  let nodes: Nodes;

  beforeEach(() => {
    nodes = new Nodes();
  });

  for (const away of [0, 2 * TTL]) {
    it(`who lists another node gets nothing while somebody holds, one node having been empty after ${away} ms`, async () => {
      const old = nodes.process('abc');
      nodes.node('b').fate = dead;
      const ticket = await old.acquire();
      for (let passed = 0; passed < away; passed += TTL / 4) {
        await nodes.clock.advance(TTL / 4);
        expect(await old.extend(ticket)).to.equal(true);
      }
      nodes.node('b').fate = () => AT_ONCE;
      await refusedFor(nodes, old, ticket, nodes.process('abd'));
      expect(old.warnings).to.deep.equal([]);
    });
  }

  it('who lists more nodes gets nothing while somebody holds', async () => {
    const old = nodes.process('abc');
    const ticket = await old.acquire();
    nodes.node('c').memory.restart();
    await refusedFor(nodes, old, ticket, nodes.process('abcde'));
  });

  it('who was refused keeps nobody else from acquiring', async () => {
    const old = nodes.process('abc');
    const other = nodes.process('abd');
    await old.release(await old.acquire());
    for (let i = 0; i < 10; i += 1) {
      const ticket = await old.acquire();
      nodes.node('b').memory.restart();
      await errorOf(other.try(), QuorumError);
      expect(await old.release(ticket)).to.equal(true);
    }
  });

  it('another may be used one ttl after the last use', async () => {
    const old = nodes.process('abc');
    await old.release(await old.acquire());
    const other = nodes.process('abd');
    await errorOf(other.try(), QuorumError);
    await nodes.clock.advance(TTL + 1);
    await other.acquire();
    await errorOf(old.try(), QuorumError);
  });

  it('may be named in any order, and heal when nodes come back empty', async () => {
    const old = nodes.process('abc');
    const ticket = await old.acquire();
    for (const name of ['a', 'b', 'c', 'a']) {
      nodes.node(name).memory.restart();
      const fresh = nodes.process('cab');
      expect((await fresh.try()).verdict.kind).to.equal('busy');
      await nodes.clock.advance(TTL / 3);
      expect(await old.extend(ticket)).to.equal(true);
      await nodes.clock.advance(TTL / 3);
    }
    expect(await old.release(ticket)).to.equal(true);
    await nodes.process('bca').acquire();
  });

  it('are begun while a node is away, and found by who comes when it is back', async () => {
    nodes.node('c').fate = dead;
    const [one, other] = [nodes.process('abc'), nodes.process('abc')];
    const ticket = await one.acquire();
    nodes.node('c').fate = () => AT_ONCE;
    expect((await other.try()).verdict.kind).to.equal('busy');
    await one.release(ticket);
    await other.acquire();
  });

  it('are begun at once while a node is away whose client gives up its calls late', async () => {
    const process = nodes.process('abc');
    nodes.node('c').take = async () => {
      await new Promise<void>((resolve) => nodes.clock.schedule(resolve, TTL));
      throw new Error('Connection is closed.');
    };
    const waits: number[] = [];
    for (let i = 0; i < 3; i += 1) {
      const began = nodes.clock.monotonic();
      await process.release(await process.acquire());
      waits.push(nodes.clock.monotonic() - began);
      await nodes.clock.advance(2 * TTL);
    }
    // The first waits for as long as a node is waited for.
    expect(waits).to.deep.equal([TTL / 10, 0, 0]);
  });

  it('cost no calls', async () => {
    const [one, other] = [nodes.process('abc'), nodes.process('abc')];
    for (let i = 1; i <= 6; i += 1) {
      const process = i % 2 === 0 ? one : other;
      await process.release(await process.acquire());
      expect(nodes.takes()).to.equal(3 * i);
    }
  });

  it('under other names are the same set where all nodes tell so', async () => {
    const [one, other] = [nodes.process('abc'), nodes.process('abc', { names: ['x', 'y', 'z'] })];
    const ticket = await one.acquire();
    expect((await other.try()).verdict.kind).to.equal('busy');
    await one.release(ticket);
    const theirs = await other.acquire();
    expect((await one.try()).verdict.kind).to.equal('busy');
    // It says what the others say, also to one that has lost its data.
    nodes.node('b').memory.restart();
    expect(await other.extend(theirs)).to.equal(true);
    await errorOf(nodes.process('abd').try(), QuorumError);
    await other.release(theirs);
    await one.acquire();
    expect([...one.warnings, ...other.warnings]).to.deep.equal([]);
  });

  it('are only warned of where that is wanted', async () => {
    const old = nodes.process('abc');
    nodes.node('b').fate = dead;
    await old.acquire();
    nodes.node('b').fate = () => AT_ONCE;
    const other = nodes.process('abd', { otherSet: 'warn' });
    await other.acquire();
    expect(other.warnings).to.have.length(1);
  });
});
