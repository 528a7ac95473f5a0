import { expect } from 'chai';

import type { AcquireReply, PushedGrant, TicketRequest } from '../../../src/backend.js';
import { systemClock } from '../../../src/clock.js';
import { eventually } from '../../support/eventually.js';
import { ManualClock } from '../../../src/manual-clock.js';
import { MemoryBackend } from '../../../src/memory/memory-backend.js';
import { parseTicketId } from '../../../src/ticket-id.js';

describe('memory backend', () => {
  let clock: ManualClock;
  let backend: MemoryBackend;

  beforeEach(() => {
    clock = new ManualClock();
    backend = new MemoryBackend({ clock });
  });

  const key = { prefix: 'p', name: 'jobs' };
  const of = (id: string, limit: number) => ({
    key,
    limit,
    client: parseTicketId(id)?.client ?? '',
  });

  function request(id: string, how: Partial<TicketRequest> = {}): TicketRequest {
    return { id, permits: parseTicketId(id)?.permits ?? 1, wait: true, arrival: undefined, ...how };
  }

  function acquire(
    ids: readonly (string | TicketRequest)[],
    given: { limit?: number; ttl?: number; notAfter?: number; label?: string } = {},
  ): Promise<AcquireReply> {
    const requests = ids.map((id) => (typeof id === 'string' ? request(id) : id));
    const { limit = 1, ttl = 10_000, notAfter, label = 'l' } = given;
    return backend.acquire({ ...of(requests[0]?.id ?? '', limit), ttl, label, notAfter, requests });
  }

  const release = (ids: readonly string[], limit = 1) =>
    backend.release({ ...of(ids[0] ?? '', limit), ids });
  const extend = (ids: readonly string[], ttl: number, limit = 1) =>
    backend.extend({ ...of(ids[0] ?? '', limit), ids, ttl });
  const inspect = (limit = 1) => backend.inspect({ key, limit });
  const kinds = ({ verdicts }: AcquireReply): string[] => verdicts.map(({ kind }) => kind);

  it('frees a permit at the very millisecond at which its ticket expires', async () => {
    await acquire(['a.1'], { ttl: 1000 });
    await clock.advance(999);
    expect(kinds(await acquire([request('b.1', { wait: false })]))).to.deep.equal(['busy']);
    await clock.advance(1);
    expect(kinds(await acquire([request('b.1', { wait: false })]))).to.deep.equal(['granted']);
  });

  it('names the limit of somebody who holds, not of one whose tickets have expired', async () => {
    await acquire(['a.1'], { limit: 2, ttl: 1000 });
    await clock.advance(999);
    expect(await acquire(['b.1'], { limit: 3, ttl: 1 })).to.include({ otherLimit: 2 });
    await clock.advance(1);
    expect(await acquire(['b.2'], { limit: 4 })).not.to.have.property('otherLimit');
  });

  it('takes no notice of steps of the wall clock', async () => {
    await acquire(['a.1'], { ttl: 1000 });
    clock.stepWall(86_400_000);
    expect((await inspect()).held).to.equal(1);
    clock.stepWall(-2 * 86_400_000);
    await clock.advance(1000);
    expect((await inspect()).held).to.equal(0);
  });

  it('ends a ticket at its last expiry, whether that was moved on or back', async () => {
    await acquire(['a.1'], { ttl: 5000 });
    await extend(['a.1'], 20_000);
    await clock.advance(6000);
    expect((await inspect()).held).to.equal(1);
    await extend(['a.1'], 100);
    await clock.advance(100);
    expect((await inspect()).held).to.equal(0);
  });

  it('ends a ticket at its last expiry when a repeated acquire moved that back', async () => {
    await acquire(['a.1'], { ttl: 5000 });
    await acquire(['a.1'], { ttl: 100 });
    await clock.advance(100);
    expect((await inspect()).held).to.equal(0);
    expect(kinds(await acquire([request('b.1', { wait: false })]))).to.deep.equal(['granted']);
  });

  it('extends no ticket with another token than the one asked for', async () => {
    const [verdict] = (await acquire(['a.1'], { ttl: 1000 })).verdicts;
    const token = verdict?.kind === 'granted' ? verdict.fencingToken : NaN;
    const call = { ...of('a.1', 1), ids: ['a.1'], ttl: 5000 };
    const other = await backend.extend({ ...call, fencingTokens: [token - 1] });
    expect(other.extended).to.deep.equal([false]);
    expect((await inspect()).holders[0]?.expiresIn).to.equal(1000);
    const same = await backend.extend({ ...call, fencingTokens: [token] });
    expect(same.extended).to.deep.equal([true]);
  });

  it('finds what an adoption did before where its old id was granted anew since', async () => {
    const adopt = () => {
      const call = { ...of('b.1', 2), ttl: 10_000, label: 'l' };
      return backend.adopt({ ...call, id: 'a.1', newId: 'b.1~a.1' });
    };
    await acquire(['a.1'], { limit: 2 });
    const { ticket } = await adopt();
    await acquire(['a.1'], { limit: 2 });
    const again = (await adopt()).ticket;
    expect(again).to.deep.equal({ ...ticket, before: 'b.1~a.1' });
    await release(['a.1', 'b.1~a.1'], 2);
    expect((await inspect(2)).held).to.equal(0);
  });

  it('finds an adopted ticket by its first id after another one had that and was released', async () => {
    const adopt = async (newId: string) => {
      const call = { ...of(newId, 2), ttl: 10_000, label: 'l' };
      return (await backend.adopt({ ...call, id: 'a.1', newId })).ticket?.before;
    };
    await acquire(['a.1'], { limit: 2 });
    expect(await adopt('b.1~a.1')).to.equal('a.1');
    await acquire(['a.1'], { limit: 2 });
    await release(['a.1'], 2);
    expect(await adopt('c.1~a.1')).to.equal('b.1~a.1');
    await release(['c.1~a.1'], 2);
    expect(await adopt('d.1~a.1')).to.equal(undefined);
  });

  it('ends a claimed ticket of a short ttl in time, too', async () => {
    await acquire(['x.1'], { ttl: 5000 });
    await acquire(['a.1'], { ttl: 300 });
    await release(['x.1']);
    await acquire(['a.1'], { ttl: 300 });
    await clock.advance(300);
    expect(kinds(await acquire([request('b.1', { wait: false })]))).to.deep.equal(['granted']);
  });

  it('pushes a grant to the client that waits, after the call that freed the permit', async () => {
    const pushed: PushedGrant[] = [];
    const health: boolean[] = [];
    backend.listen('b', 'p', {
      onGrants: (grants) => pushed.push(...grants),
      onHealth: (healthy) => health.push(healthy),
    });
    await acquire(['a.1']);
    await acquire(['b.1']);
    const releasing = release(['a.1']);
    expect(pushed).to.deep.equal([]);
    expect((await releasing).grants).to.deep.equal([]);
    expect(health).to.deep.equal([true]);
    expect(pushed).to.have.length(1);
    expect(pushed[0]).to.deep.include({ id: 'b.1', slots: [0] });
    const { serverTime } = await extend(['b.1'], 10_000);
    expect((pushed[0]?.expiresAt ?? 0) - serverTime).to.equal(5000);
  });

  it('pushes nothing to a listener of another client or prefix, nor to one that was closed', async () => {
    const pushed: string[] = [];
    const listen = (client: string, prefix: string) =>
      backend.listen(client, prefix, { onGrants: () => pushed.push(client), onHealth: () => {} });
    listen('c', 'p');
    listen('b', 'q');
    await listen('b', 'p').close();
    await acquire(['a.1']);
    await acquire(['b.1']);
    await release(['a.1']);
    await clock.advance(0);
    expect(pushed).to.deep.equal([]);
  });

  it('says nothing of health to a listener that was closed at once', async () => {
    const health: boolean[] = [];
    const listening = backend.listen('b', 'p', {
      onGrants: () => {},
      onHealth: (healthy) => health.push(healthy),
    });
    await listening.close();
    await clock.advance(0);
    expect(health).to.deep.equal([]);
  });

  it('tells with the reply what was granted to others of the same client', async () => {
    await acquire(['a.1', 'a.2']);
    const { grants } = await release(['a.1']);
    expect(grants.map(({ id }) => id)).to.deep.equal(['a.2']);
  });

  it('grants nothing that nobody is told of when a call comes too late', async () => {
    await acquire(['x.1'], { ttl: 1000 });
    await acquire(['a.1']);
    await clock.advance(1000);
    const { verdicts, grants } = await acquire(['a.1'], { notAfter: 1 });
    expect(verdicts).to.deep.equal([{ kind: 'late' }]);
    const held = (await inspect()).holders.map(({ id }) => id);
    expect(grants.map(({ id }) => id)).to.deep.equal(held);
  });

  it('steps over dead clients, whose requests come back to their place by asking', async () => {
    await acquire(['x.1'], { ttl: 60_000 });
    const [verdict] = (await acquire(['a.1'])).verdicts;
    const arrival = verdict?.kind === 'queued' ? verdict.arrival : NaN;
    await clock.advance(4000);
    await acquire(['b.1', 'b.2']);
    await clock.advance(1000);
    await release(['x.1']);
    expect((await inspect()).holders.map(({ id }) => id)).to.deep.equal(['b.1']);
    await acquire([request('a.1', { arrival })]);
    expect((await inspect()).waiters.map(({ id }) => id)).to.deep.equal(['a.1', 'b.2']);
  });

  it('takes no permit twice for an id that comes twice in one call', async () => {
    await acquire(['a.1', 'a.1'], { limit: 3 });
    await acquire([request('b.1', { arrival: 5 }), request('b.1', { arrival: 5 })], { limit: 3 });
    expect((await inspect(3)).held).to.equal(2);
    await acquire(['c.1', 'c.2'], { limit: 3 });
    await release(['a.1', 'a.1', 'c.2', 'c.2'], 3);
    expect(await inspect(3)).to.include({ held: 2, waiting: 0 });
  });

  it('keeps semaphores apart whose names could be confused', async () => {
    for (const other of [
      { prefix: 'p', name: 'jobs' },
      { prefix: 'p:jobs', name: '' },
      { prefix: 'p', name: 'Jobs' },
      { prefix: '', name: 'p:jobs' },
      { prefix: 'p","jobs', name: '' },
    ]) {
      const call = { key: other, limit: 1, client: 'a', ttl: 1000, label: '', notAfter: undefined };
      const reply = await backend.acquire({ ...call, requests: [request('a.1')] });
      expect(kinds(reply)).to.deep.equal(['granted']);
    }
  });

  it('keeps backends apart', async () => {
    const other = new MemoryBackend({ clock });
    const call = { ...of('a.1', 1), ttl: 1000, label: '', notAfter: undefined };
    for (const each of [backend, other]) {
      expect(kinds(await each.acquire({ ...call, requests: [request('a.1')] }))).to.deep.equal([
        'granted',
      ]);
    }
  });

  it('lets tokens rise also after all tickets are gone, and while time stands still', async () => {
    const tokens: number[] = [];
    for (let i = 0; i < 50; i++) {
      const [verdict] = (await acquire([`a.${i}`])).verdicts;
      if (verdict?.kind === 'granted') tokens.push(verdict.fencingToken);
      await release([`a.${i}`]);
    }
    expect(tokens).to.have.length(50);
    tokens.forEach((token, i) => i > 0 && expect(token).to.be.above(tokens[i - 1] ?? NaN));
    expect(tokens.every(Number.isSafeInteger)).to.equal(true);
  });

  it('hands out copies: nobody can change what it holds', async () => {
    const [verdict] = (await acquire(['a.1.2'], { limit: 3 })).verdicts;
    const slots: unknown = verdict?.kind === 'granted' ? verdict.slots : undefined;
    if (Array.isArray(slots)) slots.push(99);
    const { holders } = await inspect(3);
    holders[0]?.slots.push(98);
    expect((await inspect(3)).holders[0]?.slots).to.deep.equal([0, 1]);
  });

  it('forgets semaphores whose tickets were left to expire, as new ones are used', async () => {
    const expiring = 50;
    for (let i = 0; i < expiring; i += 1) await leaveOne(`left ${i}`, 1000);
    await leaveOne('live', 60_000);
    expect(backend.size).to.equal(expiring + 1);
    await clock.advance(1000);
    for (let i = 0; i < expiring; i += 1)
      await backend.inspect({ key: keyOf(`new ${i}`), limit: 1 });
    expect(backend.size).to.equal(1);
    expect(await backend.inspect({ key: keyOf('live'), limit: 1 })).to.include({ held: 1 });
  });

  const keyOf = (name: string) => ({ prefix: 'p', name });

  /** A ticket that nobody gives back. */
  async function leaveOne(name: string, ttl: number): Promise<void> {
    const call = { ...of('a.1', 1), key: keyOf(name), ttl, label: '', notAfter: undefined };
    await backend.acquire({ ...call, requests: [request('a.1')] });
  }

  it('gives the event loop its turn, however fast each reply makes its caller call again', async () => {
    let calls = 0;
    let turned: number | undefined;
    setImmediate(() => {
      turned = calls;
    });
    for (; calls < 2000; calls += 2) {
      await acquire(['a.1']);
      await release(['a.1']);
    }
    expect(turned).to.be.within(1, 1000);
  });

  it("uses the process's clock unless told otherwise", async () => {
    const real = new MemoryBackend();
    const call = { ...of('a.1', 1), ttl: 20, label: '', notAfter: undefined };
    const before = systemClock.wall();
    const { serverTime } = await real.acquire({ ...call, requests: [request('a.1')] });
    expect(Math.trunc(serverTime)).to.be.within(before, systemClock.wall());
    await eventually(async () => (await real.inspect({ key, limit: 1 })).held === 0);
  });
});
