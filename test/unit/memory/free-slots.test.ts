import { expect } from 'chai';
import * as fc from 'fast-check';

import type { SlotRange } from '../../../src/memory/free-slots.js';
import { FreeSlots, slotsOf } from '../../../src/memory/free-slots.js';
import { check } from '../../random/reproducible.js';

describe('free slots', () => {
  const give = (slots: FreeSlots, ...numbers: number[]): void =>
    slots.giveBack(numbers.map((slot) => ({ first: slot, final: slot })));

  it('are given out lowest first', () => {
    const slots = new FreeSlots();
    expect(slots.take(3)).to.deep.equal([{ first: 0, final: 2 }]);
    expect(slotsOf(slots.take(1))).to.deep.equal([3]);
    give(slots, 1);
    give(slots, 0);
    expect(slotsOf(slots.take(4))).to.deep.equal([0, 1, 4, 5]);
    expect(slots.used).to.equal(6);
  });

  it('start at 0 again when none is in use', () => {
    const slots = new FreeSlots();
    give(slots, ...slotsOf(slots.take(100)).toReversed());
    expect([slots.used, slots.take(2)]).to.deep.equal([0, [{ first: 0, final: 1 }]]);
  });

  it('are none for none', () => {
    const slots = new FreeSlots();
    slots.giveBack([]);
    expect(slots.take(0)).to.deep.equal([]);
    slots.take(3);
    give(slots, 0);
    expect(slots.take(0)).to.deep.equal([]);
    expect(slots.used).to.equal(2);
  });

  it('are one range again, however many pieces it comes back in', () => {
    const slots = new FreeSlots();
    slots.take(1001);
    const pieces = Array.from({ length: 1000 }, (_, slot) => slot);
    give(slots, ...pieces.filter((slot) => slot % 2 === 0));
    give(slots, ...pieces.filter((slot) => slot % 2 === 1).toReversed());
    expect(slots.take(1000)).to.deep.equal([{ first: 0, final: 999 }]);
  });

  it('are always the lowest, through any coming and going', async () => {
    const property = fc.asyncProperty(fc.array(step, { size: 'large' }), async (steps) =>
      compare(steps),
    );
    await check(property, 100);
  });

  /** How many to take, or which of those that are held, counted round, to give back. */
  const step = fc.oneof(
    fc.record({ take: fc.integer({ min: 1, max: 9 }) }),
    fc.record({ back: fc.array(fc.nat(50), { minLength: 1, maxLength: 3 }) }),
  );

  function compare(steps: readonly ({ take: number } | { back: number[] })[]): void {
    const slots = new FreeSlots();
    const held: (readonly SlotRange[])[] = [];
    const used = new Set<number>();
    for (const one of steps) {
      if ('take' in one) {
        const expected: number[] = [];
        for (let slot = 0; expected.length < one.take; slot += 1)
          if (!used.has(slot)) expected.push(slot);
        const ranges = slots.take(one.take);
        expect(slotsOf(ranges)).to.deep.equal(expected);
        for (const slot of expected) used.add(slot);
        held.push(ranges);
      } else {
        for (const at of one.back) {
          const [ranges] = held.splice(at % Math.max(held.length, 1), 1);
          slots.giveBack(ranges ?? []);
          for (const slot of slotsOf(ranges ?? [])) used.delete(slot);
        }
      }
      expect(slots.used).to.equal(used.size);
    }
  }
});
