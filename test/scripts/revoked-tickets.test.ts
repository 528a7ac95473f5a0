import { expect } from 'chai';

import { describeWithServer } from '../support/require-server.js';
import { closeBenches, ids, ScriptBench } from './script-bench.js';

describeWithServer('scripts: tickets that are revoked', (server) => {
  after(closeBenches);

  async function marks(bench: ScriptBench): Promise<string> {
    return (await bench.redis.hget(bench.keyOf('meta'), 'revoked')) ?? '';
  }

  it('are gone at once, and their holders are told so when they ask', async () => {
    const bench = new ScriptBench(server(), { limit: 4 });
    await bench.acquire(['a.1', 'a.2.2', 'a.3']);
    expect((await bench.revoke('a.2.2')).revoked).to.equal(true);
    expect((await bench.inspect()).held).to.equal(2);
    const { extended, revoked } = await bench.extend(['a.1', 'a.2.2', 'a.3', 'gone.1']);
    expect(extended).to.deep.equal([true, false, true, false]);
    expect(revoked).to.deep.equal(['a.2.2']);
    // As often as they ask: a reply may get lost.
    expect((await bench.extend('a.2.2')).revoked).to.deep.equal(['a.2.2']);
    expect((await bench.release('a.2.2')).released).to.deep.equal([false]);
    expect((await bench.take('b.1.2')).slots).to.deep.equal([1, 2]);
  });

  it('are told apart from ids that begin or end alike', async () => {
    const bench = new ScriptBench(server(), { limit: 5 });
    await bench.acquire(['a.1', 'aa.1', 'a.11', 'a.1.2']);
    await bench.revoke('aa.1');
    await bench.revoke('a.11');
    await bench.release(['a.1', 'a.1.2']);
    expect((await bench.extend(['a.1', 'a.1.2'])).revoked).to.equal(undefined);
    expect((await bench.revoke('a.1')).revoked).to.equal(false);
  });

  it('are known by their ids, whatever characters those have', async () => {
    const bench = new ScriptBench(server(), { limit: 9 });
    const odd = ['-a--.1', '_-_.z', 'a-b-.1.2', 'a.1~b-c.2', 'a.2~b-c.3.2'];
    await bench.acquire(odd.filter((id) => !id.includes('~')));
    await bench.acquire(['b-c.2', 'b-c.3.2']);
    await bench.adopt('b-c.2', 'a.1');
    await bench.adopt('b-c.3.2', 'a.2');
    for (const id of odd) expect((await bench.revoke(id)).revoked, id).to.equal(true);
    expect((await bench.extend(odd)).revoked).to.deep.equal(odd);
    expect((await bench.inspect()).held).to.equal(0);
  });

  it('are revoked once, and the second run says the same and changes nothing', async () => {
    const bench = new ScriptBench(server(), { limit: 1 });
    await bench.take('a.1');
    await bench.acquire(['b.1', 'b.2']);
    expect((await bench.revoke('a.1')).revoked).to.equal(true);
    const state = await bench.state();
    expect((await bench.revoke('a.1')).revoked).to.equal(true);
    expect(await bench.state()).to.deep.equal(state);
    expect(await bench.queue()).to.deep.equal(['b.2']);
  });

  it('give their permits to those who wait, in the same call', async () => {
    const bench = new ScriptBench(server(), { limit: 3 });
    await bench.take('a.1.3');
    for (const id of ['b.1', 'c.1', 'c.2', 'b.2']) await bench.acquire(id);
    const { grants } = await bench.revoke('a.1.3', { client: 'b' });
    expect(grants.map(({ id, slots }) => [id, slots])).to.deep.equal([['b.1', [0]]]);
    expect(await bench.queue()).to.deep.equal(['b.2']);
    expect((await bench.inspect()).held).to.equal(3);
  });

  it('are not there when they expired, were released, wait, or never were', async () => {
    const bench = new ScriptBench(server(), { limit: 2 });
    await bench.acquire(['a.1', 'a.2']);
    await bench.acquire('w.1');
    await bench.release('a.2');
    await bench.acquire('w.2');
    await bench.expire('a.1');
    for (const id of ['a.1', 'a.2', 'w.2', 'never.1']) {
      expect((await bench.revoke(id)).revoked, id).to.equal(id === 'w.2');
    }
  });

  it('are forgotten once they would have expired: meta does not grow with them', async () => {
    const bench = new ScriptBench(server(), { limit: 10, ttl: 1000 });
    for (let n = 0; n < 50; n++) {
      bench.pass(250);
      await bench.take(`a.${n}`);
      expect((await bench.revoke(`a.${n}`)).revoked).to.equal(true);
      // Those of the last second.
      expect((await marks(bench)).match(/;/g)?.length).to.be.at.most(4);
    }
    bench.pass(1000);
    expect((await bench.revoke('a.49')).revoked).to.equal(false);
    expect(await bench.parts()).to.deep.equal(['meta']);
    expect(await bench.fields()).to.deep.equal(['layout', 'revoked', 'state']);
  });

  it('are remembered by hundreds until they would have expired', async () => {
    const bench = new ScriptBench(server(), { limit: 300 });
    const all = ids('a', 300);
    await bench.acquire(all);
    for (const id of all) await bench.revoke(id);
    expect((await bench.extend(all)).revoked).to.deep.equal(all);
    expect((await bench.inspect()).held).to.equal(0);
    bench.pass(bench.ttl);
    await bench.take('b.1');
    await bench.revoke('b.1');
    expect(await marks(bench)).to.match(/^b\.1 \d+;$/);
  });

  it('are remembered while other keys are lost and rebuilt', async () => {
    const bench = new ScriptBench(server(), { limit: 3 });
    await bench.acquire(['a.1', 'a.2', 'a.3']);
    await bench.revoke('a.2');
    await bench.redis.del(bench.keyOf('free'));
    expect((await bench.extend(['a.1', 'a.2', 'a.3'])).revoked).to.deep.equal(['a.2']);
    expect((await bench.take('b.1')).slots).to.deep.equal([1]);
  });

  it('are missing and no more when meta was lost', async () => {
    const bench = new ScriptBench(server(), { limit: 3 });
    await bench.acquire(['a.1', 'a.2']);
    await bench.revoke('a.2');
    await bench.redis.del(bench.keyOf('meta'));
    const reply = await bench.extend(['a.1', 'a.2']);
    expect(reply.extended).to.deep.equal([false, false]);
    expect(reply.revoked).to.equal(undefined);
  });
});
