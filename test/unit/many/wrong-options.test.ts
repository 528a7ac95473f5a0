import { expect } from 'chai';

import { Election, KeyedSemaphore, MemoryBackend, ReadWriteLock } from '../../../src/index.js';
import { errorOf } from '../../support/rejection.js';

describe('an option of a lock', () => {
  const backend = new MemoryBackend();
  const lock = (options: unknown) => new ReadWriteLock(backend, 'a', options as object);
  const election = (options: unknown) => new Election(backend, 'a', options as object);
  const keyed = (options: unknown) => new KeyedSemaphore(backend, options as { limit: number });

  for (const [make, options, message] of [
    [lock, { limit: 0 }, 'limit: expected an integer from 1 to 16777216, got 0'],
    [lock, { limit: 2 ** 24 + 1 }, 'limit: expected an integer from 1 to 16777216'],
    [lock, { readers: 5 }, 'readers: expected no option of this name'],
    [lock, { rate: { permits: 1, per: 1 } }, 'rate: expected none, because a writer takes all'],
    [election, { again: 'yes' }, 'again: expected true or false, got "yes"'],
    [election, { agian: true }, 'agian: expected no option of this name (did you mean again?)'],
    [election, { limit: 2 }, 'limit: expected none'],
    [keyed, undefined, 'options: expected an object, got undefined'],
    [keyed, {}, 'limit: expected a number, got undefined'],
    [keyed, { limit: 1, stripes: 3 }, 'stripes: expected no option of this name'],
    [keyed, { limit: 1, nam: 'a' }, 'nam: expected no option of this name (did you mean name?)'],
    [keyed, { limit: 1, name: 'a:b' }, 'name: expected no colon'],
  ] as const) {
    it(`is refused: ${message}`, () => {
      expect(() => make(options)).to.throw(message);
    });
  }

  it('is refused by a call, which takes nothing', async () => {
    const [files, leader, keys] = [lock({}), election({}), keyed({ limit: 1 })];
    const wrong = 5 as never;
    const calls: [string, Promise<unknown>][] = [
      ['permits', files.acquireRead({ permits: 1 } as object)],
      ['permits', files.acquireWrite({ permits: 1 } as object)],
      ['timeout', files.acquireRead({ timeout: -1 })],
      ['timeout', files.acquireWrite({ timeout: -1 })],
      ['fn', files.read(wrong)],
      ['fn', files.write(wrong)],
      ['signal', leader.campaign(wrong)],
      ['ttl', keys.acquire('a', { ttl: 5 } as object)],
      ['fn', keys.tryUse('a', wrong)],
    ];
    for (const key of [undefined, 5, ['a'], '', 'x'.repeat(600), 'a\ud800']) {
      calls.push(['key', keys.acquire(key as string)]);
    }
    for (const [option, call] of calls) {
      const error = await errorOf<Error>(call, Error);
      expect(error).to.have.property('code', 'INVALID_ARGUMENT');
      expect(error.message.startsWith(`${option}: expected `), error.message).to.equal(true);
    }
    for (const { semaphore } of [files, { semaphore: leader.mutex }]) {
      expect(await semaphore.inspect()).to.include({ held: 0, waiting: 0 });
    }
  });
});
