import { hasSubscribers, subscribe, unsubscribe } from 'node:diagnostics_channel';
import { expect } from 'chai';
import { spy } from 'sinon';
import { MemoryBackend, Semaphore } from '../../src/index.js';
import { ManualClock } from '../../src/time/manual-clock.js';
import { telemetry } from '../../src/telemetry.js';
import { collectUntil } from '../support/garbage.js';
import { listeningFixture, PLAIN, stubFixture } from '../unit/stub-fixture.js';
import { ChannelLog, CHANNELS } from './channel-log.js';

const NAME = 'channels';
const [START, END] = ['tracing:redsem:acquire:start', 'tracing:redsem:acquire:asyncStart'];

describe('diagnostics channels', () => {
  let clock: ManualClock;
  let backend: MemoryBackend;
  let log: ChannelLog;

  beforeEach(() => {
    clock = new ManualClock();
    backend = new MemoryBackend({ clock });
    log = new ChannelLog(NAME);
  });

  const open = (options = {}): Semaphore => new Semaphore(backend, NAME, { limit: 1, ...options });

  it('carry a call, its grant and its release', async () => {
    const handle = await open({ limit: 3 }).acquire({ permits: 2, timeout: 500 });
    await clock.advance(40);
    await handle.release();
    const { id, slots, fencingToken } = handle;
    expect(log.of(START)).to.deep.equal([{ name: NAME, permits: 2, timeout: 500 }]);
    const grant = { name: NAME, id, slots, fencingToken, waited: 0, attempts: 1 };
    expect(log.of('redsem:grant')).to.deep.equal([grant]);
    expect(log.of(END)[0]).to.have.property('result', handle);
    const ended = { heldFor: 40, lost: undefined, overrun: 0, error: undefined };
    expect(log.of('redsem:release')).to.deep.equal([{ name: NAME, id, released: true, ...ended }]);
    expect(log.of('redsem:wait')).to.deep.equal([]);
  });

  it('carry calls that reject or find no permit, an adopted ticket, and another limit', async () => {
    const semaphore = open();
    const handle = await semaphore.acquire();
    const caught = (call: Promise<unknown>) => call.catch((error: unknown) => error);
    const late = caught(semaphore.acquire(30));
    await clock.advance(20);
    expect(log.of('redsem:queue').at(-1)).to.deep.equal({ name: NAME, waiting: 1 });
    await clock.advance(10);
    expect(log.of('redsem:queue').at(-1)).to.deep.equal({ name: NAME, waiting: 0 });
    expect(await semaphore.tryAcquire()).to.equal(null);
    const wrong = await caught(semaphore.acquire(-1));
    const errors = log.of('tracing:redsem:acquire:error').map(({ error }) => error);
    expect(errors).to.deep.equal([await late, wrong]);
    expect(errors[1]).to.be.instanceOf(RangeError);
    const results = [handle, undefined, null, undefined];
    expect(log.of(END).map(({ result }) => result)).to.deep.equal(results);
    expect(log.of('redsem:grant')).to.have.length(1);
    const { id, slots, fencingToken } = await semaphore.adopt(handle.toJSON());
    const adoption = { name: NAME, id, slots, fencingToken, waited: 0, attempts: 0 };
    expect(log.of('redsem:grant')[1]).to.deep.equal(adoption);
    expect(log.of('redsem:lost')[0]).to.include({ id: handle.id, reason: 'missing', heldFor: 30 });
    await open({ limit: 5 }).tryAcquire();
    expect(log.of('redsem:mismatch')).to.deep.equal([{ name: NAME, limit: 5, otherLimit: 1 }]);
  });

  it('carry the time since the grant, also where a message brought the grant', async () => {
    const { backend: pushing, clock: time, waiting, id } = await listeningFixture();
    const heard = new ChannelLog('jobs');
    await time.advance(1200);
    await pushing.push(id);
    await time.advance(20);
    expect(await waiting.value?.release()).to.equal(true);
    expect(heard.of('redsem:grant')[0]).to.include({ id, waited: 1200 });
    expect(heard.of('redsem:release')[0]).to.include({ id, heldFor: 20 });
  });

  it('carry a wait once, and only where no permit was free', async () => {
    const { backend: stub, clock: time, asked } = stubFixture({ retry: PLAIN });
    const heard = new ChannelLog('jobs');
    const failed = Promise.reject(new Error('connect ECONNREFUSED'));
    stub.onAcquire = (call, index) => (index === 0 ? failed : stub.allGranted(call));
    await (await asked()).value?.release();
    await time.advance(10);
    expect(heard.of('redsem:wait'), 'a permit was free').to.deep.equal([]);
    stub.onAcquire = (call, index) => (index === 2 ? failed : stub.allQueued(call));
    await asked();
    await time.advance(500);
    const { id, permits } = { id: stub.ids[1], permits: 1 };
    expect(heard.of('redsem:wait')).to.deep.equal([{ name: 'jobs', id, permits }]);
  });

  it('carry a handle that was garbage collected without release', async () => {
    // It would keep the handle, as the result of a call.
    log.end();
    const ids: unknown[] = [];
    const note = (message: unknown) => void ids.push(Reflect.get(Object(message), 'id'));
    subscribe('redsem:drop', note);
    const { id } = (await open({ ttl: 1000 }).acquire()).toJSON();
    // Its first extension: until then its caller may not have it yet.
    await clock.advance(400);
    await collectUntil(() => ids.includes(id)).finally(() => unsubscribe('redsem:drop', note));
    expect(ids.filter((each) => each === id)).to.have.length(1);
  });

  it('cost nothing without a subscriber: no message, no traced call, no reading of the clock', async () => {
    const publish = spy(telemetry.grant.constructor.prototype as typeof telemetry.grant, 'publish');
    const trace = spy(telemetry.acquire, 'tracePromise');
    // Most messages need the time.
    const read = spy(ManualClock.prototype, 'monotonic');
    /** Goes through all channels but that of dropped handles; gives how often the time was read. */
    const everything = async (): Promise<number> => {
      read.resetHistory();
      clock = new ManualClock();
      backend = new MemoryBackend({ clock });
      const semaphore = open({ ttl: 1000 });
      const first = await semaphore.acquire();
      const second = semaphore.acquire();
      await clock.advance(400);
      await first.release();
      const adopted = await semaphore.adopt((await second).toJSON());
      await (await open({ limit: 2 }).tryAcquire())?.release();
      await semaphore.revoke(adopted.id);
      await adopted.release();
      await semaphore.acquire(-1).catch(() => undefined);
      await semaphore.close();
      return read.callCount;
    };
    log.end();
    expect(CHANNELS.filter(hasSubscribers), 'of a test before').to.deep.equal([]);
    const readings = await everything();
    expect([publish.callCount, trace.callCount]).to.deep.equal([0, 0]);
    log = new ChannelLog(NAME);
    expect(await everything()).to.be.above(readings);
    const unheard = CHANNELS.filter((channel) => log.of(channel).length === 0);
    expect(unheard).to.deep.equal(['redsem:drop']);
    log.end();
    expect(await everything()).to.equal(readings);
  });
});
