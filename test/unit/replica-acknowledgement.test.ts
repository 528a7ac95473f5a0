import { expect } from 'chai';

import type { AcquireReply, SetLimitReply } from '../../src/backend.js';
import { Semaphore } from '../../src/index.js';
import { StubBackend, watch } from './stub-backend.js';

describe('a permit that too few replicas have', () => {
  let backend: StubBackend & { hasReplicas: boolean };
  const options = { limit: 1, replicas: { atLeast: 1 } };
  const idOf = (call: number): string => backend.acquires[call]?.call.requests[0]?.id ?? '';

  beforeEach(() => {
    backend = Object.assign(new StubBackend({ pushes: true }), { hasReplicas: true });
  });

  it('is given back before it is asked for again', async () => {
    const { clock } = backend;
    const tooFewReplicas = new Error('0 of 1');
    backend.onAcquire = (call, index) => ({
      ...backend.allGranted(call),
      ...(index === 0 && { tooFewReplicas }),
    });
    const acquiring = watch(clock, new Semaphore(backend, 's', options).acquire());
    await clock.advance(0);
    expect(backend.givenBack).to.deep.equal([idOf(0)]);
    expect(acquiring.done).to.equal(false);
    await clock.advance(20);
    expect(acquiring.value).to.include({ held: true, id: idOf(0) });
    expect(backend.givenBack).to.have.length(1);
  });

  it('is not given back by a call that ends when a later one has made it a held one', async () => {
    const { clock } = backend;
    let end: (reply: AcquireReply) => void = () => {};
    backend.onAcquire = (call, index) =>
      index === 0 ? new Promise((resolve) => (end = resolve)) : backend.allGranted(call);
    const acquiring = watch(clock, new Semaphore(backend, 's', options).acquire());
    await clock.advance(5100);
    expect(backend.acquires).to.have.length(2);
    expect(acquiring.value).to.include({ held: true });
    const first = backend.acquires[0]?.call;
    if (first !== undefined) {
      end({ ...backend.allGranted(first), tooFewReplicas: new Error('0 of 1') });
    }
    await clock.advance(100);
    expect(backend.givenBack).to.deep.equal([]);
    expect(acquiring.value).to.include({ held: true });
  });

  it('is asked for at once when its grant is pushed, and not held by that alone', async () => {
    const { clock } = backend;
    const waiting = watch(clock, new Semaphore(backend, 's', options).acquire());
    await clock.advance(0);
    backend.setHealth(true);
    await clock.advance(100);
    const before = backend.acquires.length;
    let grant: (reply: AcquireReply) => void = () => {};
    backend.onAcquire = () => new Promise((resolve) => (grant = resolve));
    backend.push(idOf(0));
    await clock.advance(1);
    expect(backend.acquires).to.have.length(before + 1);
    expect(waiting.done).to.equal(false);
    const asked = backend.acquires.at(-1)?.call;
    if (asked !== undefined) grant(backend.allGranted(asked));
    await clock.advance(1);
    expect(waiting.value).to.include({ held: true });
  });

  it('is asked for at once when its grant overtakes the reply that queued it', async () => {
    const { clock } = backend;
    const semaphore = new Semaphore(backend, 's', options);
    const waits = watch(clock, semaphore.acquire());
    await clock.advance(0);
    backend.setHealth(true);
    await clock.advance(0);
    const before = backend.acquires.length;
    backend.onAcquire = (call, index) => {
      if (index > before) return backend.allGranted(call);
      backend.push(call.requests[0]?.id ?? '');
      return backend.allQueued(call);
    };
    const acquiring = watch(clock, semaphore.acquire());
    await clock.advance(5);
    expect(acquiring.value).to.include({ held: true });
    expect(waits.value).to.include({ held: true });
  });

  it('of others is heard of in a reply that came too late', async () => {
    const { clock } = backend;
    const semaphore = new Semaphore(backend, 's', { limit: 1 });
    const waiting = watch(clock, semaphore.acquire());
    await clock.advance(0);
    backend.setHealth(true);
    await clock.advance(0);
    const replies: SetLimitReply[] = [];
    Object.assign(backend, {
      setLimit: (): Promise<SetLimitReply> => {
        const serverTime = backend.serverTime;
        const grant = { id: idOf(0), fencingToken: 9, slots: [0], expiresAt: serverTime + 2000 };
        const late = replies.length === 0;
        const reply = { serverTime, late, grants: late ? [grant] : [] };
        replies.push(reply);
        return Promise.resolve(reply);
      },
    });
    const setting = watch(clock, semaphore.setLimit(2));
    await clock.advance(50);
    expect(setting).to.include({ done: true, error: undefined });
    expect(replies).to.have.length(2);
    expect(waiting.value).to.include({ held: true, fencingToken: 9 });
  });
});
