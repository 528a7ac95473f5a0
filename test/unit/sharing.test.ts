import { expect } from 'chai';

import { Semaphore } from '../../src/semaphore.js';
import { ManualClock } from '../../src/manual-clock.js';
import { parseTicketId } from '../../src/ticket-id.js';
import { StubBackend, watch } from './stub-backend.js';

const OPTIONS = { limit: 4, ttl: 3000, retry: { min: 10, max: 200, factor: 2, jitter: false } };

describe('semaphore objects on one backend', () => {
  function pair(second: Partial<typeof OPTIONS> & { prefix?: string } = {}, name = 'jobs') {
    const backend = new StubBackend();
    const first = new Semaphore(backend, 'jobs', OPTIONS);
    const other = new Semaphore(backend, name, { ...OPTIONS, ...second });
    return { backend, clock: backend.clock, first, other };
  }

  it('of one name share one poll', async () => {
    const { backend, clock, first, other } = pair();
    const alone = new StubBackend();
    watch(alone.clock, new Semaphore(alone, 'jobs', OPTIONS).acquire(60_000));
    watch(clock, first.acquire(60_000));
    watch(clock, other.acquire(60_000));
    await alone.clock.advance(3000);
    await clock.advance(3000);
    expect(backend.tries).to.deep.equal(alone.tries);
    for (const { call } of backend.acquires) expect(call.requests).to.have.length(2);
  });

  it('of one name share one heartbeat', async () => {
    const { backend, clock, first, other } = pair();
    backend.onAcquire = (call) => backend.allGranted(call);
    const handles = await Promise.all([first.acquire(), other.acquire()]);
    await clock.advance(1000);
    expect(backend.extends.map(({ call }) => call.ids)).to.deep.equal([
      handles.map(({ id }) => id),
    ]);
    await Promise.all(handles.map((handle) => handle.release()));
  });

  it('of one name send their calls together', async () => {
    const { backend, first, other } = pair();
    backend.onAcquire = (call) => backend.allGranted(call);
    const handles = await Promise.all([first.acquire(), other.acquire()]);
    await Promise.all(handles.map((handle) => handle.release()));
    expect([backend.acquires.length, backend.releases.length]).to.deep.equal([1, 1]);
  });

  for (const [what, options, name] of [
    ['another name', {}, 'others'],
    ['another limit', { limit: 5 }, 'jobs'],
    ['another ttl', { ttl: 4000 }, 'jobs'],
    ['another prefix', { prefix: 'p' }, 'jobs'],
  ] as const) {
    it(`with ${what} call for themselves, each with its own`, async () => {
      const { backend, clock, first, other } = pair(options, name);
      backend.onAcquire = (call) => backend.allGranted(call);
      await Promise.all([first.acquire(), other.acquire()]);
      await clock.advance(1500);
      expect(backend.acquires).to.have.length(2);
      expect(backend.extends.length).to.be.at.least(2);
      const [one, two] = backend.acquires.map(({ call }) => call);
      const told = [two?.key.name, two?.limit, two?.ttl, two?.key.prefix];
      expect([one?.key.name, one?.limit, one?.ttl, one?.key.prefix]).not.to.deep.equal(told);
      await first.close();
      await other.close();
    });
  }

  it('are one client, whose ids never come twice', async () => {
    const { backend, first, other } = pair({}, 'others');
    backend.onAcquire = (call) => backend.allGranted(call);
    const handles = await Promise.all(
      [first, other, first, other].map((semaphore) => semaphore.acquire()),
    );
    expect(new Set(handles.map(({ id }) => id)).size).to.equal(4);
    const clients = new Set(handles.map(({ id }) => parseTicketId(id)?.client));
    expect(clients.size).to.equal(1);
    expect(new Set(backend.acquires.map(({ call }) => call.client))).to.deep.equal(clients);
  });

  it('with clocks of their own do not share timers', async () => {
    const backend = new StubBackend();
    const clock = new ManualClock();
    watch(clock, new Semaphore(backend, 'jobs', { ...OPTIONS, clock }).acquire(60_000));
    watch(backend.clock, new Semaphore(backend, 'jobs', OPTIONS).acquire(60_000));
    await backend.clock.advance(0);
    backend.acquires.splice(0);
    await clock.advance(70);
    expect(backend.acquires).to.have.length(3);
    await backend.clock.advance(70);
    expect(backend.acquires).to.have.length(6);
  });

  it('need no timer before somebody wants something', async () => {
    const { clock, first, other } = pair();
    expect(clock.timers).to.equal(0);
    await Promise.all([first.close(), other.close()]);
    expect(clock.timers).to.equal(0);
  });

  it('tell label, ttl and limit with each call', async () => {
    const backend = new StubBackend();
    const semaphore = new Semaphore(backend, 'jobs', { ...OPTIONS, label: 'me', prefix: 'p' });
    watch(backend.clock, semaphore.acquire({ permits: 3, timeout: 5 }));
    await backend.clock.advance(5);
    expect(backend.acquires[0]?.call).to.deep.include({
      label: 'me',
      ttl: 3000,
      limit: 4,
      key: { prefix: 'p', name: 'jobs' },
    });
    expect(backend.acquires[0]?.call.requests[0]).to.deep.include({ permits: 3, wait: true });
    expect(backend.releases[0]?.call).to.deep.include({
      limit: 4,
      key: { prefix: 'p', name: 'jobs' },
    });
  });
});
