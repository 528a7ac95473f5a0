import { expect } from 'chai';

import { ClosedError, KeyedSemaphore, ManualClock, MemoryBackend } from '../../../src/index.js';
import { collectUntil } from '../../support/garbage.js';
import { reasonOf } from '../../support/rejection.js';
import { StubBackend } from '../stub-backend.js';

describe('a keyed semaphore', () => {
  it('refuses a wrong limit of its function, and asks no backend', async () => {
    const stub = new StubBackend();
    const thrown = new Error('no such tenant');
    const throwing = new KeyedSemaphore(stub, {
      limit: () => {
        throw thrown;
      },
    });
    const calls = [throwing.acquire('a', 5), throwing.tryAcquire('a'), throwing.use('a', () => 1)];
    for (const call of calls) expect(await reasonOf(call)).to.equal(thrown);
    for (const [answer, error, got] of [
      ['3', TypeError, '"3" (string)'],
      [Promise.resolve(3), TypeError, 'an object of class Promise'],
      [Promise.reject(new Error('no limit')), TypeError, 'an object of class Promise'],
      [0, RangeError, '0'],
      [NaN, RangeError, 'NaN'],
    ] as const) {
      const keyed = new KeyedSemaphore(stub, { limit: () => answer as number });
      const refused = await reasonOf(keyed.acquire('acme'));
      expect(refused).to.be.instanceOf(error).with.property('code', 'INVALID_ARGUMENT');
      const { message } = refused as Error;
      expect(message).to.match(/^limit of "acme": expected .+, got /);
      expect(message).to.include(`got ${got};`);
    }
    expect(stub.acquires).to.deep.equal([]);
  });

  it('makes a try with a group and a cost', async () => {
    const budgets = { tokens: { amount: 10, per: 1000 } };
    const keyed = new KeyedSemaphore(new MemoryBackend(), { limit: 9, groupLimit: 1, budgets });
    const cost = { tokens: 9 };
    expect(await keyed.tryUse('a', () => 'ran', { cost })).to.include({ ran: true });
    expect(await keyed.tryUse('a', () => 'ran', { cost })).to.deep.equal({ ran: false });
    expect(await keyed.tryAcquire('b', { group: 'x', cost })).to.include({ held: true });
    expect(await keyed.tryAcquire('b', { group: 'x' })).to.equal(null);
    await keyed.close();
  });

  it('gives a listener of its close no permit of another key [P8]', async () => {
    const keyed = new KeyedSemaphore(new MemoryBackend(), { limit: 1 });
    const handle = await keyed.acquire('a');
    const other = new Promise<unknown>((resolve) => {
      handle.on('lost', () => resolve(reasonOf(keyed.acquire('b'))));
    });
    await keyed.close();
    expect(await other).to.be.instanceOf(ClosedError);
  });
});

describe('the semaphores under keys', () => {
  it('are kept while a permit or a request needs them, and no longer', async () => {
    const keyed = new KeyedSemaphore(new MemoryBackend({ clock: new ManualClock() }), { limit: 1 });
    for (let i = 0; i < 500; i += 1) await keyed.use(`key ${i}`, () => undefined);
    await holdAndWait(keyed);
    await collectUntil(() => keyed.size === 0);
  });

  /** A separate function: its variables can be collected once it has ended. */
  async function holdAndWait(keyed: KeyedSemaphore): Promise<void> {
    const held = await keyed.acquire('held');
    const waiting = keyed.acquire('held');
    const other = await keyed.acquire('other');
    await collectUntil(() => keyed.size === 2);
    await held.release();
    await (await waiting).release();
    await other.release();
  }
});
