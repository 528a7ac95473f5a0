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
    backend.onExtend = (call) => backend.extended(call, false);
    backend.push(handle.id);
    await backend.clock.advance(0);
    expectMissing(handle);
    expect(backend.givenBack).to.deep.equal([handle.id]);
  });

  it('is looked for, and not lost because somebody says so', async () => {
    const handle = await heldWhileOneWaits();
    // Many at once cost two calls: the one under way, and one behind it.
    for (let i = 0; i < 100; i++) backend.push(handle.id);
    await backend.clock.advance(0);
    for (let i = 0; i < 100; i++) backend.endTicket(handle.id, 'revoked');
    await backend.clock.advance(0);
    expect(backend.extends.map(({ call }) => call.ids)).to.deep.equal([[handle.id], [handle.id]]);
    expect([handle.held, backend.givenBack]).to.deep.equal([true, []]);
  });

  it('is the same one when a push comes again', async () => {
    const waiting = semaphore.acquire();
    const other = semaphore.acquire();
    other.catch(() => undefined);
    await backend.clock.advance(0);
    backend.push(backend.acquires[0]?.call.requests[0]?.id ?? '');
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
