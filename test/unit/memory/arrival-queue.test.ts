import { expect } from 'chai';
import * as fc from 'fast-check';

import { type Arrival, ArrivalQueue } from '../../../src/memory/arrival-queue.js';
import { check } from '../../random/reproducible.js';

describe('arrival queue', () => {
  const step = fc.record({
    id: fc.integer({ min: 0, max: 30 }).map(String),
    arrival: fc.nat(40),
    removed: fc.boolean(),
  });

  it('has everyone at their place, whoever leaves and comes back', async () => {
    const property = fc.asyncProperty(fc.array(step, { size: 'large' }), async (steps) => {
      const queue = new ArrivalQueue();
      const plain = new Map<string, Arrival>();
      for (const { removed, ...item } of steps) {
        const known = plain.get(item.id);
        expect([queue.get(item.id), queue.has(item.id)]).to.deep.equal([known, plain.has(item.id)]);
        if (removed) {
          expect(queue.remove(item.id)).to.equal(plain.delete(item.id));
        } else if (known === undefined) {
          queue.add(item);
          plain.set(item.id, item);
        }
        expect([...queue]).to.deep.equal(sorted(plain.values()));
        expect(queue.size).to.equal(plain.size);
      }
    });
    await check(property, 100);
  });

  function sorted(items: Iterable<Arrival>): Arrival[] {
    return [...items].toSorted((a, b) => a.arrival - b.arrival || (a.id < b.id ? -1 : 1));
  }

  it('may lose the one that was read last while it is read', () => {
    const queue = new ArrivalQueue();
    for (let arrival = 0; arrival < 100; arrival += 1) queue.add({ id: `${arrival}`, arrival });
    const read: number[] = [];
    for (const { id, arrival } of queue) {
      read.push(arrival);
      if (arrival % 3 !== 0) queue.remove(id);
    }
    expect(read).to.deep.equal(Array.from({ length: 100 }, (_, i) => i));
    expect(queue.size).to.equal(34);
  });

  it('costs a few looks for each, however many there are and wherever they go', () => {
    const [count, looks] = [20_000, 20 * Math.log2(20_000)];
    const queue = new ArrivalQueue();
    let seen = 0;
    const add = (number: number): void =>
      queue.add({
        id: `${number}`,
        get arrival() {
          seen += 1;
          return number;
        },
      });
    const spread = (i: number): number => (i * 7919) % count;
    const costs = [add, (number: number) => queue.remove(`${number}`), add].map((work, round) => {
      seen = 0;
      for (let i = 0; i < count; i += 1) work(round === 0 ? i : spread(i));
      return seen / count;
    });
    for (const cost of costs) expect(cost).to.be.below(looks);
    expect([...queue].map(({ id }) => Number(id))).to.deep.equal(
      Array.from({ length: count }, (_, i) => i),
    );
  });
});
