import { expect } from 'chai';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';

import { instant } from '../../src/clock.js';
import { Heartbeat } from '../../src/heartbeat.js';
import { MemoryBackend, Semaphore } from '../../src/index.js';
import { Lease } from '../../src/lease.js';
import { ManualClock } from '../../src/manual-clock.js';

async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
}

describe('who is told of something and ends it', () => {
  let clock: ManualClock;
  let backend: MemoryBackend;
  let sem: Semaphore;

  beforeEach(() => {
    clock = new ManualClock();
    backend = new MemoryBackend({ clock });
    sem = new Semaphore(backend, 'x', { limit: 1 });
  });

  async function during(channel: string, listener: (message: unknown) => void, run: () => unknown) {
    subscribe(channel, listener);
    try {
      await run();
      await settled();
    } finally {
      unsubscribe(channel, listener);
    }
  }

  function isQueueOf(message: unknown, waiting: number): boolean {
    return (message as { waiting?: number }).waiting === waiting;
  }

  async function outcomeOf(acquired: Promise<unknown>): Promise<string> {
    return acquired.then(
      () => 'granted',
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
  }

  it('a lost listener that releases all others leaves no timer', async () => {
    const heartbeat = new Heartbeat({ clock, extendEvery: 0, extend: () => {} });
    const hold = (ttl: number): Lease => {
      const keeper = { onLeaseEnd: (ended: Lease) => heartbeat.remove(ended) };
      const certainty = { since: instant(clock), span: ttl };
      const ticket = { slots: [0], fencingToken: 1 };
      const lease = new Lease({ name: 'x', ttl, clock, keeper }, `t.${ttl}`, ticket, certainty);
      const now = clock.monotonic();
      heartbeat.add(lease, Infinity, now + lease.remaining, now);
      return lease;
    };
    const long = hold(30_000);
    hold(1000).observe({ onLost: () => void long.endByRelease(), weaken: () => {} });
    await clock.advance(1100);
    expect(long.state.kind).to.equal('released');
    expect(clock.timers).to.equal(0);
  });

  it('a subscriber that closes when a request comes leaves no timer', async () => {
    let outcome = '';
    const close = (message: unknown): void => {
      if (isQueueOf(message, 1)) void sem.close();
    };
    await during('redsem:queue', close, async () => {
      outcome = await outcomeOf(sem.acquire(60_000));
    });
    expect(outcome).to.match(/closed/);
    expect(clock.timers).to.equal(0);
  });

  for (const channel of ['redsem:queue', 'redsem:grant']) {
    it(`a subscriber of ${channel} that closes at a grant leaves no permit held`, async () => {
      const other = new Semaphore(backend, 'x', { limit: 1 });
      let outcome = '';
      const close = (message: unknown): void => {
        if (channel === 'redsem:grant' || isQueueOf(message, 0)) void sem.close();
      };
      await during(channel, close, async () => {
        outcome = await outcomeOf(sem.acquire(60_000));
      });
      expect(outcome).to.match(/closed/);
      expect((await other.inspect()).held).to.equal(0);
      expect(clock.timers).to.equal(0);
      await other.close();
    });
  }

  it('a subscriber that aborts a request at its grant leaves neither permit nor timer', async () => {
    const abort = new AbortController();
    let outcome = '';
    const end = (message: unknown): void => {
      if (isQueueOf(message, 0)) abort.abort(new Error('aborted'));
    };
    await during('redsem:queue', end, async () => {
      outcome = await outcomeOf(sem.acquire({ signal: abort.signal }));
    });
    expect(outcome).to.equal('aborted');
    expect((await sem.inspect()).held).to.equal(0);
    expect(clock.timers).to.equal(0);
    await sem.close();
  });

  it('a subscriber that closes when somebody begins to wait leaves no subscription', async () => {
    let open = 0;
    const listen = backend.listen.bind(backend);
    backend.listen = (...given: Parameters<typeof listen>) => {
      const listening = listen(...given);
      open += 1;
      return {
        close: () => {
          open -= 1;
          return listening.close();
        },
      };
    };
    const holder = new Semaphore(backend, 'x', { limit: 1 });
    const handle = await holder.acquire();
    let outcome = '';
    const close = (): void => void sem.close();
    await during('redsem:wait', close, async () => {
      outcome = await outcomeOf(sem.acquire());
    });
    expect(outcome).to.match(/closed/);
    await handle.release();
    await holder.close();
    await settled();
    expect(open).to.equal(0);
  });
});
