import { expect } from 'chai';

import type { AcquireReply, Call, ExtendReply } from '../../src/backends/backend.js';
import { MemoryBackend } from '../../src/index.js';
import type { ServedEvent } from '../../verification/history/events.js';
import { History } from '../../verification/simulation/history.js';
import { ServerClock } from '../../verification/simulation/world/clocks.js';
import { Damage, DamagedError } from '../../verification/simulation/world/damage.js';
import { Scheduler } from '../../verification/simulation/world/scheduler.js';
import {
  type OpenStore,
  type OperationName,
  SimulatedServer,
} from '../../verification/simulation/world/server.js';
import { errorOf } from '../support/rejection.js';

describe('simulated server', () => {
  let scheduler: Scheduler;
  let history: History;
  let damage: Damage;
  let server: SimulatedServer;

  beforeEach(() => {
    scheduler = new Scheduler();
    history = new History();
    damage = new Damage();
    const clock = new ServerClock(scheduler, 1);
    server = new SimulatedServer({ clock, history, scheduler, damage });
  });

  const callOn = (name: string): Call => {
    return { key: { prefix: 'redsem', name }, limit: 1, client: 'client' };
  };

  const asking = (name: string, id: string, wait = true) => {
    const requests = [{ id, permits: 1, wait, arrival: undefined }];
    return { ...callOn(name), ttl: 30_000, label: '', notAfter: undefined, requests };
  };

  const returning = (name: string, ...ids: string[]) => ({ ...callOn(name), ids });

  const extending = (name: string, ...ids: string[]) => ({ ...callOn(name), ids, ttl: 30_000 });

  const execute = (operation: OperationName, ...calls: Call[]): Promise<unknown> =>
    server.execute('p0', operation, calls, { sent: scheduler.now, unheard: false });

  const served = (): ServedEvent[] => history.events.filter((event) => event.type === 'served');

  /** Semaphores of which a permit is held. */
  async function held(...names: string[]): Promise<string[]> {
    const counts = await Promise.all(
      names.map((name) => server.remains([{ name, limit: 1, ttl: 0 }])),
    );
    return names.filter((_, i) => counts[i]?.held === 1);
  }

  it('has the older data only when it goes back twice in a row', async () => {
    await execute('acquire', asking('pool', 'client.1', false));
    scheduler.now = 1000;
    await execute('release', returning('pool', 'client.1'));
    scheduler.now = 2000;
    server.goBack(500);
    server.goBack(1500);

    const replies = await execute('extend', extending('pool', 'client.1'));
    const [{ extended } = { extended: [] }] = replies as readonly ExtendReply[];
    expect(extended, 'the permit that was held by then').to.deep.equal([true]);
  });

  it('does older calls again at their own time, also those that read it late', async () => {
    // As where a script has to be sent again.
    const open: OpenStore = (clock) => {
      const store = new MemoryBackend({ clock });
      const acquire: typeof store.acquire = async (calls) => {
        await new Promise((resolve) => void setImmediate(resolve));
        return MemoryBackend.prototype.acquire.call(store, calls);
      };
      return Object.assign(store, { acquire });
    };
    const clock = new ServerClock(scheduler, 1);
    server = new SimulatedServer({ clock, history, scheduler, damage, open });
    await execute('acquire', asking('pool', 'client.1', false));
    scheduler.now = 20_000;
    server.goBack(0);
    scheduler.now = 31_000;
    const replies = await execute('extend', extending('pool', 'client.1'));
    const [{ extended } = { extended: [] }] = replies as readonly ExtendReply[];
    expect(extended, 'the permit that expired after 30 s').to.deep.equal([false]);
  });

  it('writes an event for each semaphore of a call, and counts them where it goes back', async () => {
    await execute('acquire', asking('a', 'client.1'), asking('b', 'client.2'));
    scheduler.now = 1000;
    await execute('release', returning('a', 'client.1'), returning('b', 'client.2'));
    scheduler.now = 2000;
    server.goBack(1500);
    expect(served().map(({ operation, semaphore }) => `${operation} ${semaphore}`)).to.deep.equal([
      'acquire a',
      'acquire b',
      'release a',
      'release b',
    ]);
    expect(history.events.at(-1)).to.include({ change: 'restored', upTo: 2 });
    await execute('extend', extending('a', 'client.1'));
    expect(await held('a', 'b')).to.deep.equal(['a', 'b']);
  });

  it('fails a whole call for one damaged semaphore: what is before it in the call is done, what is behind is not', async () => {
    damage.strike('b');
    const calls = ['a', 'b', 'c'].map((name) => asking(name, `client.${name}`));
    await errorOf(execute('acquire', ...calls), DamagedError);
    expect(await held('a', 'c')).to.deep.equal(['a']);
    expect(served().map(({ semaphore }) => semaphore)).to.deep.equal(['a']);
    damage.heal('b');
    await execute('acquire', ...calls);
    expect(await held('a', 'b', 'c')).to.deep.equal(['a', 'b', 'c']);
  });

  it('takes several together or none, and none where one is damaged', async () => {
    const calls = ['a', 'b', 'c'].map((name) => asking(name, `client.${name}`, false));
    damage.strike('c');
    await errorOf(execute('acquireTogether', ...calls), DamagedError);
    damage.heal('c');
    await execute('acquire', asking('b', 'client.0'));
    expect(await execute('acquireTogether', ...calls)).to.equal(undefined);
    expect(await held('a', 'b', 'c')).to.deep.equal(['b']);
    await execute('release', returning('b', 'client.0'));
    const replies = (await execute('acquireTogether', ...calls)) as readonly AcquireReply[];
    expect(replies.flatMap(({ verdicts }) => verdicts.map(({ kind }) => kind))).to.deep.equal(
      Array(3).fill('granted'),
    );
    expect(served().map(({ operation, semaphore }) => `${operation} ${semaphore}`)).to.deep.equal([
      'acquire b',
      'release b',
      'acquire a',
      'acquire b',
      'acquire c',
    ]);
  });

  it('names the entry of a push where a call names a semaphore twice', async () => {
    const wide = (call: Call): Call => ({ ...call, limit: 2 });
    for (const id of ['client.1', 'client.2', 'other.1', 'other.2']) {
      const call = wide(asking('pool', id));
      await execute('acquire', { ...call, client: id.replace(/\..*/, '') });
    }
    const once = wide(returning('pool', 'client.1'));
    await execute('release', once, wide(returning('pool', 'client.2')));
    expect(
      served()
        .slice(-2)
        .map(({ grants }) => grants.map(({ id }) => id)),
    ).to.deep.equal([['other.1'], ['other.2']]);
  });
});
