import { expect } from 'chai';

import { Semaphore } from '../../src/index.js';
import { StubBackend, watch } from './stub-backend.js';

describe('a grant to a request that was given up', () => {
  it('is withdrawn, for its call may have run after its withdrawal, and its reply may be lost', async () => {
    const backend = new StubBackend({ pushes: true });
    const { clock } = backend;
    const semaphore = new Semaphore(backend, 's', { limit: 1 });
    const controller = new AbortController();
    const lasting = watch(clock, semaphore.acquire());
    await clock.advance(0);
    backend.setHealth(true);
    await clock.advance(0);
    backend.onAcquire = () => new Promise(() => {});
    const aborted = watch(clock, semaphore.acquire({ signal: controller.signal }));
    await clock.advance(1);
    const id = backend.acquires.at(-1)?.call.requests.at(-1)?.id ?? '';
    controller.abort();
    await clock.advance(1);
    expect(aborted.done).to.equal(true);
    const withdrawals = (): number =>
      backend.releases.filter(({ call }) => call.ids.includes(id)).length;
    expect(withdrawals()).to.equal(1);

    backend.push(id, 2000);
    await clock.advance(1);
    expect(withdrawals()).to.equal(2);
    backend.push(id, 2000);
    backend.push('somebody.else', 2000);
    await clock.advance(1);
    expect(withdrawals()).to.equal(2);
    expect(lasting.done).to.equal(false);
    await semaphore.close();
  });

  it('is withdrawn also when it was a later call of that request that was not answered', async () => {
    const { backend, semaphore, withdrawals } = await waitingBench();
    const { clock } = backend;
    const controller = new AbortController();
    watch(clock, semaphore.acquire({ signal: controller.signal }));
    await clock.advance(1);
    const id = backend.acquires.at(-1)?.call.requests.at(-1)?.id ?? '';
    backend.onAcquire = () => new Promise(() => {});
    const before = backend.acquires.length;
    await clock.advance(2000);
    expect(backend.acquires).to.have.length(before + 1);
    controller.abort();
    await clock.advance(1);
    expect(withdrawals(id)).to.equal(1);
    backend.push(id, 2000);
    await clock.advance(1);
    expect(withdrawals(id)).to.equal(2);
    await semaphore.close();
  });

  it('is not taken for one when the last call of that request was answered', async () => {
    const { backend, semaphore, withdrawals } = await waitingBench();
    const controller = new AbortController();
    const aborted = watch(backend.clock, semaphore.acquire({ signal: controller.signal }));
    await backend.clock.advance(1);
    const id = backend.acquires.at(-1)?.call.requests.at(-1)?.id ?? '';
    controller.abort();
    await backend.clock.advance(1);
    expect(aborted.done).to.equal(true);
    expect(withdrawals(id)).to.equal(1);
    backend.push(id, 2000);
    await backend.clock.advance(1);
    expect(withdrawals(id)).to.equal(1);
    await semaphore.close();
  });

  it('is known as one for the last 1000 of those requests', async () => {
    const { backend, semaphore, withdrawals } = await waitingBench();
    const { clock } = backend;
    backend.acquires.splice(0);
    backend.onAcquire = () => new Promise(() => {});
    const ask = ({ signal }: AbortController): unknown =>
      watch(clock, semaphore.acquire({ signal }));
    const [many, one] = [new AbortController(), new AbortController()];
    for (let i = 0; i < 1000; i++) ask(many);
    await clock.advance(1);
    ask(one);
    many.abort();
    // Until the call without a reply is given up, the next one gathers.
    await clock.advance(5000);
    one.abort();
    await clock.advance(1);
    const [oldest = '', second = ''] = (backend.acquires[0]?.call.requests ?? []).map(
      ({ id }) => id,
    );
    const newest = backend.acquires[1]?.call.requests[0]?.id ?? '';
    const before = [oldest, second, newest].map(withdrawals);
    for (const id of [oldest, second, newest]) backend.push(id, 2000);
    await clock.advance(1);
    const after = [oldest, second, newest].map(withdrawals);
    expect(after.map((count, i) => count - (before[i] ?? 0))).to.deep.equal([0, 1, 1]);
    await semaphore.close();
  });

  /** One request waits for ever, and pushes arrive. */
  async function waitingBench() {
    const backend = new StubBackend({ pushes: true });
    const semaphore = new Semaphore(backend, 's', { limit: 1 });
    watch(backend.clock, semaphore.acquire());
    await backend.clock.advance(0);
    backend.setHealth(true);
    await backend.clock.advance(0);
    const withdrawals = (id: string): number =>
      backend.releases.filter(({ call }) => call.ids.includes(id)).length;
    return { backend, semaphore, withdrawals };
  }
});
