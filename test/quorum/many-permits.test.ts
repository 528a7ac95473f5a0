import { expect } from 'chai';

import type { RedisConnection } from '../../src/index.js';
import { ManualClock, Semaphore } from '../../src/index.js';
import { BatchSize, MOST_IN_CALL } from '../../src/quorum/batch-size.js';
import { QuorumBackend } from '../../src/quorum/quorum-backend.js';
import type { TakeCall, TakeReply } from '../../src/quorum/quorum-node.js';
import { RedisQuorumNode } from '../../src/redis/quorum-node.js';
import { quorumListScript } from '../../src/redis/scripts.js';
import { NoReplyError } from '../../src/time-limit.js';
import { errorOf } from '../support/rejection.js';
import { connectionTo } from './connection-to.js';
import { MemoryQuorumNode } from './memory-node.js';
import { describeWithMasters } from './servers.js';

const PERMITS = 5000;

describeWithMasters('many permits on a quorum', 3, (masters) => {
  for (const kind of ['redis', 'ioredis'] as const) {
    it(`are told once, however many they are, over ${kind}`, async () => {
      const [client] = await masters().connect(kind);
      if (client === undefined) throw new Error('no client');
      let told = 0;
      const inner = connectionTo(client);
      const counted = async (reply: Promise<unknown>): Promise<unknown> => {
        told += String(await reply).length;
        return reply;
      };
      const connection: RedisConnection = {
        runBySha: (sha1, ...rest) => counted(inner.runBySha(sha1, ...rest)),
        runByText: (text, ...rest) => {
          const reply = inner.runByText(text, ...rest);
          return text === quorumListScript.text ? counted(reply) : reply;
        },
      };
      const node = new RedisQuorumNode(connection);
      const key = { prefix: 'redsem', name: `told-${kind}` };
      const requests = [1, 2].map((n) => {
        return { id: `a.${n}`, attempt: 1, permits: PERMITS, token: 0, aim: [] };
      });
      const base = { key, limit: 2 * PERMITS, ttl: 30_000, notAfter: undefined };
      await node.take({ ...base, label: '', requests });
      const { tickets } = await node.list(key);
      expect(tickets.map(({ slots }) => slots.length)).to.deep.equal([PERMITS, PERMITS]);
      const digits = tickets.reduce((sum, { slots }) => sum + slots.join().length, 0);
      // Beside its slots a page has a few dozen characters.
      expect(told).to.be.below(digits + 2000);
    });
  }
});

describe('a quorum', () => {
  it(`refuses more than ${MOST_IN_CALL} permits for one ticket at once`, async () => {
    const clock = new ManualClock();
    const backend = new QuorumBackend([new MemoryQuorumNode(clock)], clock);
    const semaphore = new Semaphore(backend, 'most', { limit: 3 * MOST_IN_CALL });
    for (const permits of [MOST_IN_CALL + 1, 2 * MOST_IN_CALL]) {
      const message = `permits: expected at most ${MOST_IN_CALL} on several masters, got ${permits}`;
      expect((await errorOf(semaphore.acquire({ permits }), RangeError)).message).to.equal(message);
      expect((await errorOf(semaphore.tryAcquire({ permits }), RangeError)).message).to.equal(
        message,
      );
    }
    await semaphore.close();
  });

  /** Needs so many milliseconds for each request, and does nothing else meanwhile. */
  class SlowNode extends MemoryQuorumNode {
    readonly sizes: number[] = [];
    readonly #clock: ManualClock;
    readonly #each: number;

    constructor(clock: ManualClock, each: number) {
      super(clock);
      this.#clock = clock;
      this.#each = each;
    }

    override async take(call: TakeCall): Promise<TakeReply> {
      const { length } = call.requests;
      this.sizes.push(length);
      await new Promise<void>((resolve) => {
        this.#clock.schedule(resolve, length * this.#each);
      });
      return super.take(call);
    }
  }

  it('asks for less at a time where nodes cannot do as much in their time', async () => {
    const clock = new ManualClock(1_700_000_000_000);
    const nodes = [1, 2, 3].map(() => new SlowNode(clock, 1));
    const backend = new QuorumBackend(nodes, clock);
    const semaphore = new Semaphore(backend, 'batch', { limit: 1000, ttl: 1000 });
    // Each node gets 100 ms.
    const acquiring = Promise.all(Array.from({ length: 500 }, () => semaphore.acquire(60_000)));
    await clock.advance(60_000);
    const handles = await acquiring;
    expect(handles.length).to.equal(500);
    expect(Math.max(...(nodes[0]?.sizes ?? []))).to.equal(500);
    const closing = semaphore.close();
    await clock.advance(5000);
    await closing;
  });
});

describe('the size of batches', () => {
  const permitsOf = (permits: number): number => permits;
  const silence = [{ error: new NoReplyError(100), sent: true }, undefined];
  const answer = [{ error: new NoReplyError(100), sent: true }, { reply: {} }];

  it('is halved when nobody answers in time, and doubled when somebody does', () => {
    const batches = new BatchSize();
    const ones = Array.from({ length: 100 }, () => 1);
    const sizes = (): number[] => batches.split(ones, permitsOf).map(({ length }) => length);
    expect(sizes()).to.deep.equal([100]);
    batches.learn(100, silence);
    expect(sizes()).to.deep.equal([50, 50]);
    batches.learn(50, silence);
    expect(sizes()).to.deep.equal([25, 25, 25, 25]);
    batches.learn(25, answer);
    expect(sizes()).to.deep.equal([50, 50]);
    // Says nothing of larger ones.
    batches.learn(10, answer);
    expect(sizes()).to.deep.equal([50, 50]);
    for (let i = 0; i < 20; i += 1) batches.learn(1, silence);
    expect(sizes()).to.have.length(100);
  });

  it('says nothing of nodes that are down', () => {
    const batches = new BatchSize();
    batches.learn(100, [{ error: new Error('ECONNREFUSED'), sent: true }]);
    expect(batches.split([60, 60], permitsOf)).to.deep.equal([[60, 60]]);
  });

  it('counts permits, and leaves no part empty', () => {
    const batches = new BatchSize();
    expect(batches.split([], permitsOf)).to.deep.equal([]);
    const most = MOST_IN_CALL;
    expect(batches.split([most, 1, most - 1, 2], permitsOf)).to.deep.equal([
      [most],
      [1, most - 1],
      [2],
    ]);
  });
});
