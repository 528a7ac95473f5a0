import { expect } from 'chai';

import { MemoryBackend } from '../../src/memory/memory-backend.js';
import { RedisBackend } from '../../src/redis/redis-backend.js';
import { Semaphore } from '../../src/semaphore.js';
import { backendOf } from '../../src/targets.js';

const run = (): Promise<unknown> => Promise.resolve('');

describe('targets', () => {
  it('may be clients of redis or ioredis, told by their methods', () => {
    for (const client of [
      { evalSha: run, eval: run },
      { evalsha: run, eval: run },
      { runBySha: run, runByText: run },
    ]) {
      expect(backendOf(client)).to.be.instanceOf(RedisBackend);
    }
  });

  it('may be backends, which are used as they are', () => {
    const backend = new MemoryBackend();
    expect(backendOf(backend)).to.equal(backend);
  });

  it('have one backend for each object, so that all semaphores on it share it', () => {
    const [one, two] = [
      { evalSha: run, eval: run },
      { evalSha: run, eval: run },
    ];
    expect(backendOf(one)).to.equal(backendOf(one));
    expect(backendOf(one)).not.to.equal(backendOf(two));
  });

  it('of any other kind are refused at once', () => {
    for (const [target, got] of [
      [undefined, 'undefined'],
      [null, 'null'],
      ['redis://localhost', 'redis://localhost'],
      [{}, 'another object'],
      [{ eval: run }, 'another object'],
      [{ runBySha: run }, 'another object'],
      [{ acquire: run, extend: run, release: run }, 'another object'],
      [() => {}, ''],
    ] as const) {
      const make = (): unknown => Reflect.construct(Semaphore, [target, 'jobs', { limit: 1 }]);
      expect(make)
        .to.throw(TypeError)
        .with.property('message')
        .that.includes(
          'target: expected a client of redis or ioredis, a Backend or a RedisConnection, got ',
        )
        .and.includes(got);
    }
  });
});
