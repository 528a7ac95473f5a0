import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';

import type { AcquireCall, AcquireVerdict } from '../../../../src/backends/backend.js';
import { RedisBackend } from '../../../../src/backends/redis/redis-backend.js';
import { acquire } from '../../../../src/backends/redis/acquire.js';
import { release } from '../../../../src/backends/redis/release.js';
import { errorOf } from '../../../support/rejection.js';

/** A server whose replicas a test decides, and what it was sent. */
class Server {
  acknowledged = 0;
  readonly waits: number[][] = [];
  readonly releases: (readonly string[])[] = [];
  /** Of the calls of acquire, in turn; the last stays. */
  replies = ['0 7'];
  /** Where there is a list, each wait leaves there what answers it. */
  answers: ((count: number) => void)[] | undefined;
  readonly backend = new RedisBackend({
    runBySha: (sha1, keys, args) => {
      if (sha1 === release.script.sha1) this.releases.push(args);
      const acquired = sha1 === acquire.script.sha1;
      const reply = acquired
        ? this.#next()
        : keys.filter((key) => key.endsWith('info')).map(() => '1');
      return Promise.resolve(['1700000000000000', ...reply].join('|'));
    },
    runByText: () => Promise.resolve('1'),
    replication: () => (count, timeout) => {
      this.waits.push([count, timeout]);
      const { answers } = this;
      if (answers === undefined) return Promise.resolve(this.acknowledged);
      return new Promise((resolve) => answers.push(resolve));
    },
  });

  open(atLeast: number): RedisBackend {
    return this.backend.withReplicas?.({ atLeast, timeout: 100 }) as RedisBackend;
  }

  #next(): string[] {
    const [reply = '', ...more] = this.replies;
    if (more.length > 0) this.replies = more;
    return reply.split('|');
  }
}

function call(name: string, ...ids: string[]): AcquireCall {
  const requests = ids.map((id) => ({ id, permits: 1, wait: false, arrival: undefined }));
  const terms = { client: 'c', limit: 1, ttl: 1000, label: 'l', notAfter: undefined };
  return { key: { prefix: 'p', name }, requests, ...terms };
}

const granted: AcquireVerdict = { kind: 'granted', fencingToken: 7, slots: [0] };

describe('backend with replicas', () => {
  it('waits once for all that a call granted, and not where it granted nothing', async () => {
    const server = new Server();
    server.acknowledged = 1;
    server.replies = ['0 7|b|0 7', 'b', '2'];
    const backend = server.open(1);
    const replies = await backend.acquire([call('x', 'c.1'), call('y', 'c.2'), call('z', 'c.3')]);
    const verdicts = replies.map((reply) => reply.verdicts[0]);
    expect(verdicts).to.deep.equal([granted, { kind: 'busy' }, granted]);
    await backend.acquire([call('x', 'c.4')]);
    const none = await backend.acquireTogether([call('x', 'c.5'), call('y', 'c.6')]);
    expect([none, server.waits, server.releases]).to.deep.equal([undefined, [[1, 100]], []]);
  });

  it('gives back only a grant that too few replicas have, and rejects', async () => {
    const server = new Server();
    server.acknowledged = 1;
    server.replies = ['0 7;b|b|0 7', '0 7|0 7'];
    const backend = server.open(2);
    const calls = [call('x', 'c.1', 'c.2'), call('y', 'c.3'), call('z', 'c.4')];
    const error = await errorOf(backend.acquire(calls), Error);
    expect(error.message).to.equal(
      '1 of 2 replicas acknowledged the ticket within 100 ms; check INFO replication, or lower replicas.atLeast',
    );
    expect(backend.isRetryable(error)).to.equal(true);
    await errorOf(backend.acquireTogether([call('x', 'c.5'), call('y', 'c.6')]), Error);
    expect(server.releases).to.deep.equal([
      ['p:inbox:', '1', 'c.1', 'c.4'],
      ['p:inbox:', '1', 'c.5', 'c.6'],
    ]);
  });

  for (const isOver of [false, true]) {
    it(`leaves a ticket to a later call for it, which is ${isOver ? 'over' : 'under way'}`, async () => {
      const server = new Server();
      server.replies = ['0 7;1 8', '0 7'];
      server.answers = [];
      const backend = server.open(1);
      const first = errorOf(backend.acquire([call('x', 'c.1', 'c.2')]), Error);
      await turn();
      const second = backend.acquire([call('x', 'c.1')]);
      await turn();
      const [answerFirst, answerSecond] = server.answers;
      if (isOver) {
        answerSecond?.(1);
        await second;
      }
      answerFirst?.(0);
      await first;
      expect(server.releases).to.deep.equal([['p:inbox:', '1', 'c.2']]);
      answerSecond?.(1);
      expect((await second)[0]?.verdicts).to.deep.equal([granted]);
    });
  }
});
