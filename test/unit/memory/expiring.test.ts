import { expect } from 'chai';
import * as fc from 'fast-check';

import { Expiring, type Mortal } from '../../../src/memory/expiring.js';
import { Heap } from '../../../src/memory/heap.js';
import { check } from '../../random/reproducible.js';

describe('what expires', () => {
  it('goes in the order of its expiry, whatever was renewed or removed meanwhile', async () => {
    const property = fc.asyncProperty(fc.array(step, { size: 'large' }), async (steps) =>
      compare(steps),
    );
    await check(property, 100);
  });

  const id = fc.integer({ min: 0, max: 20 }).map(String);
  const at = fc.nat(30);
  const step = fc.oneof(
    fc.record({ kind: fc.constantFrom('add', 'renew'), id, at }),
    fc.record({ kind: fc.constantFrom('remove', 'expire'), id, at }),
  );

  function compare(steps: readonly { kind: string; id: string; at: number }[]): void {
    const items = new Expiring<Mortal>();
    const plain = new Map<string, number>();
    for (const one of steps) {
      const item = items.get(one.id);
      if (one.kind === 'expire') {
        const gone: string[] = [];
        for (let old = items.takeExpired(one.at); old; old = items.takeExpired(one.at))
          gone.push(old.id);
        const expected = [...plain].filter(([, until]) => until <= one.at).map(([key]) => key);
        expect(gone).to.have.members(expected);
        const times = gone.map((key) => plain.get(key) ?? NaN);
        expect(times).to.deep.equal(times.toSorted((a, b) => a - b));
        for (const key of gone) plain.delete(key);
      } else if (one.kind === 'remove') {
        expect(items.remove(one.id)).to.equal(item);
        plain.delete(one.id);
      } else {
        if (item === undefined) items.add({ id: one.id, expiresAt: one.at, place: 0 });
        else items.renew(item, one.at);
        plain.set(one.id, one.at);
      }
      const left = [...items.values()].map((each): [string, number] => [each.id, each.expiresAt]);
      expect(left).to.deep.equal([...plain]);
      expect(items.size).to.equal(plain.size);
      const nearest = plain.size === 0 ? undefined : Math.min(...plain.values());
      expect(items.nearest).to.equal(nearest);
    }
  }

  it('costs a few looks for each, however many there are', () => {
    const looks = 4 * Math.log2(10_000);
    let count = 0;
    const heap = new Heap<{ rank: number; place: number }>(({ rank }) => {
      count += 1;
      return rank;
    });
    const items = Array.from({ length: 10_000 }, (_, i) => ({
      rank: (i * 7919) % 10_007,
      place: 0,
    }));
    for (const item of items) heap.add(item);
    expect(count / items.length).to.be.below(looks);
    count = 0;
    for (const item of items) {
      item.rank += 5000;
      heap.moved(item);
    }
    expect(count / items.length).to.be.below(looks);
    count = 0;
    for (const item of items) heap.remove(item);
    expect(count / items.length).to.be.below(looks);
    expect([heap.size, heap.lowest]).to.deep.equal([0, undefined]);
  });
});
