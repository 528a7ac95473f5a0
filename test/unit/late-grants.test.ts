import { expect } from 'chai';

import { Semaphore } from '../../src/index.js';
import { never, StubBackend, watch } from './stub-backend.js';

describe('a grant that nobody wants', () => {
  it('is given back when its request was given up, for its call may run after its withdrawal', async () => {
    const { backend, semaphore, ids, givenBack } = await waitingBench();
    const { clock } = backend;
    backend.onAcquire = () => never();
    const controller = new AbortController();
    watch(clock, semaphore.acquire({ signal: controller.signal }));
    await clock.advance(1);
    const id = ids().at(-1) ?? '';
    controller.abort();
    await clock.advance(1);
    expect(givenBack(id)).to.equal(1);
    backend.push(id);
    await clock.advance(1);
    expect(givenBack(id)).to.equal(2);
    await semaphore.close();
  });

  it('is given back when it was served before, for a server may come back with older data', async () => {
    const { backend, semaphore, ids, givenBack } = await waitingBench();
    const { clock } = backend;
    const waiting = watch(clock, semaphore.acquire());
    await clock.advance(1);
    const id = ids().at(-1) ?? '';
    backend.push(id);
    await clock.advance(1);
    await waiting.value?.release();
    expect(givenBack(id)).to.equal(1);
    backend.push(id);
    await clock.advance(1);
    expect(givenBack(id)).to.equal(2);
    await semaphore.close();
  });

  it('is given back to its own semaphore, also when it came with a reply', async () => {
    const { backend, semaphore, ids } = await waitingBench();
    const { clock } = backend;
    const other = new Semaphore(backend, 'other', { limit: 3 });
    watch(clock, other.acquire(1));
    await clock.advance(1);
    const id = ids().at(-1) ?? '';
    backend.releases.length = 0;
    const grant = { id, fencingToken: 9, slots: [0], expiresAt: backend.serverTime + 5000 };
    backend.onExtend = (call) => ({ ...backend.extended(call), grants: [grant] });
    backend.onAcquire = (call) => ({ ...backend.allGranted(call), grants: [grant] });
    await other.tryAcquire();
    await clock.advance(1);
    expect(backend.releases.map(({ call }) => [call.key.name, call.limit, call.ids])).to.deep.equal(
      [['other', 3, [id]]],
    );
    await Promise.all([semaphore.close(), other.close()]);
  });

  it('is given back to a semaphore that this process does not use any more', async () => {
    const { backend, semaphore, ids } = await waitingBench();
    const grants = [{ id: ids()[0]?.replace(/\w+$/, '1.2') ?? '', ...GRANT }];
    for (const listener of backend.listeners) listener.onGrants(grants, 'gone');
    await backend.clock.advance(1);
    expect(backend.releases.map(({ call }) => [call.key, call.limit, call.ids])).to.deep.equal([
      [{ prefix: 'redsem', name: 'gone' }, 0, [grants[0]?.id]],
    ]);
    await semaphore.close();
  });

  it('is left alone when no request of this process can have had its id', async () => {
    const { backend, semaphore, lasting, ids } = await waitingBench();
    const client = ids()[0]?.split('.')[0] ?? '';
    const made = ['somebody.1', `${client}.3`, `${client}.01`, `${client}.1.1`, `${client}.1~a.1`];
    for (const id of [...made, '', client]) {
      const grants = [{ id, ...GRANT }];
      for (const listener of backend.listeners) listener.onGrants(grants, 's');
    }
    await backend.clock.advance(1);
    expect(backend.releases).to.deep.equal([]);
    expect(lasting.done).to.equal(false);
    await semaphore.close();
  });

  it('is given back once at a time, and no more than 1000 are, however many are sent', async () => {
    const { backend, semaphore, ids } = await waitingBench();
    const { clock } = backend;
    for (let i = 0; i < 1500; i++) watch(clock, semaphore.acquire(1));
    await clock.advance(2);
    const many = ids().slice(1);
    expect(many).to.have.length(1500);
    backend.releases.length = 0;
    const answers: (() => void)[] = [];
    backend.onRelease = (call) =>
      new Promise((resolve) => answers.push(() => resolve(backend.released(call))));
    for (const id of [...many, ...many]) backend.push(id);
    await clock.advance(1);
    expect(backend.givenBack).to.have.members(many.slice(0, 1000));
    while (answers.length > 0) {
      answers.shift()?.();
      await clock.advance(1);
    }
    for (const id of many.slice(1000)) backend.push(id);
    await clock.advance(1);
    expect(new Set(backend.givenBack)).to.have.lengthOf(1500);
    backend.onRelease = (call) => backend.released(call);
    for (const answer of answers) answer();
    await semaphore.close();
  });

  it('is found after an interruption, with the requests that nobody makes any more', async () => {
    const { backend, semaphore, ids } = await waitingBench();
    const { clock } = backend;
    backend.onAcquire = (call) => backend.allGranted(call);
    const held = await semaphore.acquire();
    const released = await semaphore.acquire();
    await released.release();
    backend.onAcquire = (call) => backend.allQueued(call);
    watch(clock, semaphore.acquire(1));
    await clock.advance(10);
    const [waiting = '', , , givenUp = ''] = ids();
    const state = { fencingToken: 1, expiresIn: 1, heldFor: 1, waitingFor: 1, label: '' };
    const entry = (id: string) => ({ id, slots: [0], permits: 1, position: 0, ...state });
    const holders = [held.id, released.id, 'somebody.1', `${held.id}~${released.id}`].map(entry);
    const waiters = [waiting, givenUp].map(entry);
    backend.onInspect = async () => ({ limit: 4, held: 4, waiting: 2, holders, waiters });
    backend.releases.length = 0;
    backend.setHealth(false);
    backend.setHealth(true);
    await clock.advance(1);
    expect(backend.givenBack).to.have.members([released.id, givenUp]);
    await semaphore.close();
  });

  const GRANT = { fencingToken: 1, slots: [0], expiresAt: Number.MAX_SAFE_INTEGER };

  /** One request waits for ever, and pushes arrive. */
  async function waitingBench() {
    const backend = new StubBackend({ pushes: true });
    const semaphore = new Semaphore(backend, 's', { limit: 1 });
    const lasting = watch(backend.clock, semaphore.acquire());
    await backend.clock.advance(0);
    backend.setHealth(true);
    await backend.clock.advance(0);
    /** In the order in which they were made. */
    const ids = (): string[] => [
      ...new Set(backend.acquires.flatMap(({ call }) => call.requests.map(({ id }) => id))),
    ];
    const givenBack = (id: string): number =>
      backend.givenBack.filter((given) => given === id).length;
    return { backend, semaphore, lasting, ids, givenBack };
  }
});
