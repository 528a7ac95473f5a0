import { expect } from 'chai';

import type { AcquireReply } from '../../src/backend.js';
import { type Handle, Semaphore } from '../../src/index.js';
import { StubBackend } from './stub-backend.js';

/** Tokens of the stub rise from 1 on. */
describe('a ticket whose id was granted anew, with a later fencing token', () => {
  let backend: StubBackend;
  let semaphore: Semaphore;

  beforeEach(() => {
    backend = new StubBackend({ pushes: true });
    semaphore = new Semaphore(backend, 'jobs', { limit: 3, ttl: 3000 });
  });

  afterEach(() => semaphore.close());

  it('is not meant by an extension, which names the token that each handle has', async () => {
    backend.onAcquire = (call) => backend.allGranted(call);
    const handles = await Promise.all([semaphore.acquire(), semaphore.acquire()]);
    await backend.clock.advance(1000);
    const [extension] = backend.extends.map(({ call }) => call);
    expect(extension?.ids).to.deep.equal(handles.map(({ id }) => id));
    expect(extension?.fencingTokens).to.deep.equal(handles.map(({ fencingToken }) => fencingToken));
  });

  it('ends the handle, and is given back, when a push tells of it', async () => {
    const handle = await heldWhileOneWaits();
    backend.push(handle.id, 2000);
    await backend.clock.advance(0);
    expectMissing(handle);
    expect(backend.givenBack).to.deep.equal([handle.id]);
  });

  it('is the same one when a push comes again', async () => {
    const waiting = semaphore.acquire();
    const other = semaphore.acquire();
    other.catch(() => undefined);
    await backend.clock.advance(0);
    backend.push(backend.acquires[0]?.call.requests[0]?.id ?? '', 2000);
    const handle = await waiting;
    backend.pushAgain();
    await backend.clock.advance(0);
    expect(handle.held).to.equal(true);
    expect(backend.givenBack).to.deep.equal([]);
  });

  it('ends the handle, and is given back, when a reply tells of it that was overtaken', async () => {
    const replies: ((reply: AcquireReply) => void)[] = [];
    backend.onAcquire = () => new Promise((resolve) => replies.push(resolve));
    const acquiring = semaphore.acquire();
    // The first call counts as failed once it has taken as long as a ttl.
    while (replies.length < 2) await backend.clock.advance(100);
    const [first, second] = backend.acquires.map(({ call }) => call);
    if (first === undefined || second === undefined) throw new Error('not tried again');
    replies[1]?.(backend.allGranted(second));
    const handle = await acquiring;
    expect(handle.held).to.equal(true);
    replies[0]?.(backend.allGranted(first));
    await backend.clock.advance(0);
    expectMissing(handle);
    expect(backend.givenBack).to.deep.equal([handle.id]);
  });

  /** So that the subscription stands. */
  async function heldWhileOneWaits(): Promise<Handle> {
    backend.onAcquire = (call, index) =>
      index === 0 ? backend.allGranted(call) : backend.allQueued(call);
    const handle = await semaphore.acquire();
    semaphore.acquire().catch(() => undefined);
    await backend.clock.advance(0);
    return handle;
  }

  function expectMissing(handle: Handle): void {
    expect(handle.held).to.equal(false);
    expect(() => handle.assertHeld())
      .to.throw()
      .with.property('reason', 'missing');
  }
});
