import { expect } from 'chai';

import { FreeSlots } from '../../../src/memory/free-slots.js';

describe('free slots', () => {
  it('are given out lowest first', () => {
    const slots = new FreeSlots();
    expect(slots.take(3)).to.deep.equal([0, 1, 2]);
    expect(slots.take(1)).to.deep.equal([3]);
    slots.giveBack([1]);
    slots.giveBack([0]);
    expect(slots.take(4)).to.deep.equal([0, 1, 4, 5]);
    expect(slots.used).to.equal(6);
  });

  it('start at 0 again when none is in use', () => {
    const slots = new FreeSlots();
    const all = slots.take(100);
    slots.giveBack(all.toReversed());
    expect([slots.used, slots.take(2)]).to.deep.equal([0, [0, 1]]);
  });

  it('are none for none', () => {
    const slots = new FreeSlots();
    slots.giveBack([]);
    expect(slots.take(0)).to.deep.equal([]);
    slots.take(3);
    slots.giveBack([0]);
    expect(slots.take(0)).to.deep.equal([]);
    expect(slots.used).to.equal(2);
  });

  it('are always the lowest, through any coming and going', () => {
    const slots = new FreeSlots();
    const used = new Set<number>();
    let state = 1;
    const random = (below: number): number => {
      state = (state * 48_271) % 2_147_483_647;
      return state % below;
    };
    for (let step = 0; step < 3000; step++) {
      const held = [...used];
      if (random(100) < 50 || held.length === 0) {
        const count = 1 + random(4);
        const expected: number[] = [];
        for (let slot = 0; expected.length < count; slot++)
          if (!used.has(slot)) expected.push(slot);
        expect(slots.take(count)).to.deep.equal(expected);
        for (const slot of expected) used.add(slot);
      } else {
        const given = new Set(
          Array.from({ length: 1 + random(5) }, () => held[random(held.length)] ?? 0),
        );
        slots.giveBack([...given]);
        for (const slot of given) used.delete(slot);
      }
      expect(slots.used).to.equal(used.size);
    }
  });
});
