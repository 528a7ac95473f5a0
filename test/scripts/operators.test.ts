import { expect } from 'chai';

import { describeOnBoth, ids, kinds, request } from './port-fixture.js';

describeOnBoth('tickets that are adopted', (make) => {
  it('get a new id, a higher token and the ttl of the adopter, and keep their slots', async () => {
    const one = make({ limit: 5, ttl: 1000 });
    await one.take('x.1');
    await one.take('a.1.3');
    const last = await one.take('y.1');
    const { ticket } = await one.adopt('a.1.3', 'b.1.3', { ttl: 5000 });
    expect(ticket).to.deep.include({ slots: [1, 2, 3], before: 'a.1.3' });
    expect(ticket?.fencingToken).to.be.above(last.fencingToken);
    expect(await one.lifeOf('b.1.3~a.1.3')).to.equal(5000);
    expect((await one.extend('a.1.3')).extended).to.deep.equal([false]);
    expect((await one.release('a.1.3')).released).to.deep.equal([false]);
    expect((await one.inspect()).held).to.equal(5);
  });

  it('are found under every id that they ever had: the later wins', async () => {
    const one = make({ limit: 1 });
    await one.take('a.1');
    const tokens: number[] = [];
    let before = 'a.1';
    for (const [i, id] of ['a.1', 'a.1', 'b.0~a.1', 'c.1~a.1', 'a.1'].entries()) {
      const own = `${'bcbcb'[i] ?? ''}.${i}`;
      const { ticket } = await one.adopt(id, own);
      expect(ticket).to.deep.include({ slots: [0], before });
      tokens.push(ticket?.fencingToken ?? 0);
      before = `${own}~a.1`;
    }
    expect(tokens).to.deep.equal([...new Set(tokens)].toSorted((a, b) => a - b));
    expect((await one.standing()).held).to.deep.equal({ 'b.4~a.1': [0] });
    // As it was the first time, but for the id until now.
    const { ticket } = await one.adopt('a.1', 'b.4');
    expect(ticket).to.deep.equal({ slots: [0], fencingToken: tokens.at(-1), before: 'b.4~a.1' });
  });

  it('are not there once they were released, expired or revoked, nor are waiters', async () => {
    const one = make({ limit: 3 });
    await one.acquire(ids('a', 3));
    for (const n of [1, 2, 3]) await one.adopt(`a.${n}`, `b.${n}`);
    await one.acquire('w.1.3', { label: '0' });
    await one.release('b.1~a.1');
    await one.revoke('b.2~a.2');
    const gone = ['a.1', 'b.1~a.1', 'a.2', 'b.2~a.2', 'w.1.3', 'never.1'];
    for (const id of gone) expect((await one.adopt(id, 'c.1')).ticket, id).to.equal(undefined);
    expect(await one.standing()).to.deep.equal({ held: { 'b.3~a.3': [2] }, queue: ['w.1.3'] });
    await one.release('w.1.3');
    await one.expire('b.3~a.3');
    for (const id of ['a.3', 'b.3~a.3']) {
      expect((await one.adopt(id, 'c.1')).ticket, id).to.equal(undefined);
    }
    expect((await one.inspect()).held).to.equal(0);
  });

  it('are distinguished from a ticket that was granted again under their old id', async () => {
    const one = make({ limit: 3 });
    await one.take('a.1');
    const first = await one.adopt('a.1', 'b.1');
    // Its acquire ran a second time.
    expect((await one.take('a.1')).slots).to.deep.equal([1]);
    expect((await one.adopt('a.1', 'b.1')).ticket).to.deep.equal({
      ...first.ticket,
      before: 'b.1~a.1',
    });
    expect((await one.adopt('a.1', 'c.1')).ticket).to.deep.include({ slots: [1], before: 'a.1' });
    expect((await one.standing()).held).to.deep.equal({ 'b.1~a.1': [0], 'c.1~a.1': [1] });
    await one.release('c.1~a.1');
    await one.take('a.1');
    await one.release('a.1');
    expect((await one.inspect()).held).to.equal(1);
  });

  it('count the permits of their id, asked for again when they are gone, however the first one ends', async () => {
    for (const [first, own, slots] of [
      ['d.5', 'b.1', [0]],
      ['d.5.2', 'b.1.2', [0, 1]],
    ] as const) {
      const one = make({ limit: 3, ttl: 1000 });
      await one.take(first);
      await one.adopt(first, own);
      one.pass(1100);
      await one.take('x.1.3');
      await one.acquire(`${own}~${first}`);
      await one.release('x.1.3');
      expect((await one.standing()).held).to.deep.equal({ [`${own}~${first}`]: [...slots] });
      one.pass(5000);
      // Beside one that asks for several, so that permits are read off all of them.
      await one.acquire([`${own}~${first}`, 'b.9.2']);
      expect((await one.inspect()).held).to.equal(slots.length === 1 ? 3 : 2);
    }
  });
});

describeOnBoth('tickets that are revoked', (make) => {
  it('are gone at once, and their holders hear it as often as they ask', async () => {
    const one = make({ limit: 4 });
    await one.acquire(['a.1', 'a.2.2', 'a.3']);
    expect((await one.revoke('a.2.2')).revoked).to.equal(true);
    expect((await one.inspect()).held).to.equal(2);
    for (let time = 0; time < 2; time += 1) {
      const { extended, revoked } = await one.extend(['a.1', 'a.2.2', 'a.3', 'gone.1']);
      expect(extended).to.deep.equal([true, false, true, false]);
      expect(revoked).to.deep.equal(['a.2.2']);
    }
    expect((await one.release('a.2.2')).released).to.deep.equal([false]);
    expect((await one.take('b.1.2')).slots).to.deep.equal([1, 2]);
  });

  it('are known by their ids, whatever characters those have, and distinguished from such as look alike', async () => {
    const one = make({ limit: 20 });
    const odd = ['-a--.1', '_-_.z', 'a-b-.1.2', 'a.1~b-c.2', 'a.2~b-c.3.2'];
    await one.acquire([...odd.filter((id) => !id.includes('~')), 'b-c.2', 'b-c.3.2']);
    await one.adopt('b-c.2', 'a.1');
    await one.adopt('b-c.3.2', 'a.2');
    await one.acquire(['c.1', 'cc.1', 'c.11', 'c.1.2']);
    for (const id of [...odd, 'cc.1', 'c.11']) {
      expect((await one.revoke(id)).revoked, id).to.equal(true);
    }
    expect((await one.extend(odd)).revoked).to.deep.equal(odd);
    await one.release(['c.1', 'c.1.2']);
    expect((await one.extend(['c.1', 'c.1.2'])).revoked).to.equal(undefined);
    expect((await one.inspect()).held).to.equal(0);
  });

  it('are remembered by hundreds, until they would have expired', async () => {
    const one = make({ limit: 300, ttl: 1000 });
    const all = ids('a', 300);
    await one.acquire(all);
    for (const id of all) await one.revoke(id);
    expect((await one.extend(all)).revoked).to.deep.equal(all);
    one.pass(1000);
    expect((await one.revoke('a.300')).revoked).to.equal(false);
  });
});

describeOnBoth('a limit that is stored', (make) => {
  it('counts in every call, and each reply names it where it is not the caller’s', async () => {
    const one = make({ limit: 5 });
    expect((await one.setLimit(2)).storedLimit).to.equal(2);
    const reply = await one.acquire(ids('a', 3));
    expect(kinds(reply)).to.deep.equal(['granted', 'granted', 'queued']);
    const replies = [
      reply,
      await one.extend('a.1'),
      await one.adopt('a.2', 'b.1'),
      await one.revoke('never.1'),
      await one.release('never.1'),
    ];
    expect(replies.map(({ storedLimit }) => storedLimit)).to.deep.equal([2, 2, 2, 2, 2]);
    one.limit = 2;
    expect((await one.extend('a.1')).storedLimit).to.equal(undefined);
    expect((await one.inspect()).limit).to.equal(2);
    await one.loseAll();
    one.limit = 4;
    expect((await one.acquire(ids('c', 4))).verdicts.at(-1)?.kind, 'lost with all').to.equal(
      'granted',
    );
  });

  it('is not changed by a caller that gives back what it has no semaphore for, nor is that of the last caller', async () => {
    for (const stored of [undefined, 2]) {
      const one = make({ limit: stored === undefined ? 2 : 9 });
      if (stored !== undefined) await one.setLimit(stored);
      await one.acquire(ids('a', 2));
      for (const id of ['b.1', 'b.2', 'b.3']) await one.acquire(id);
      expect((await one.release('b.3', { limit: 0 })).otherLimit).to.equal(undefined);
      await one.release('a.1', { limit: 0 });
      expect(await one.holders()).to.deep.equal(['a.2', 'b.1']);
      const { otherLimit, storedLimit } = await one.extend('a.2');
      expect([otherLimit, storedLimit]).to.deep.equal([undefined, stored]);
    }
  });

  it('callers hear of one that differs from theirs, while somebody holds or waits', async () => {
    const one = make({ limit: 2, ttl: 1000 });
    const ask = async (client: string, limit: number): Promise<number | undefined> =>
      (await one.acquire([request(`${client}.1`, 'try')], { limit })).otherLimit;
    expect(await ask('a', 2)).to.equal(undefined);
    expect(await ask('b', 3)).to.equal(2);
    expect(await ask('b', 3)).to.equal(undefined);
    expect((await one.extend('a.1')).otherLimit).to.equal(3);
    expect((await one.release('b.1', { limit: 4 })).otherLimit).to.equal(2);
    one.pass(1000);
    expect(await ask('c', 6), 'all have expired').to.equal(undefined);
    await one.setLimit(5);
    expect(await ask('d', 7)).to.equal(undefined);
  });
});
