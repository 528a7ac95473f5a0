import { expect } from 'chai';

import type { Linked } from '../../src/linked-list.js';
import { LinkedList } from '../../src/linked-list.js';

interface Item extends Linked<Item> {
  readonly id: number;
}

describe('linked list', () => {
  let list: LinkedList<Item>;

  beforeEach(() => {
    list = new LinkedList();
  });

  function item(id: number): Item {
    return { id, previous: undefined, next: undefined, list: undefined };
  }

  function filled(count: number): Item[] {
    const items = Array.from({ length: count }, (_, id) => item(id));
    for (const one of items) list.add(one);
    return items;
  }

  function idsOf(some: LinkedList<Item>): number[] {
    return some.toArray().map(({ id }) => id);
  }

  it('is empty at first', () => {
    expect([list.size, list.toArray(), list.has(item(1))]).to.deep.equal([0, [], false]);
  });

  it('has its items in the order in which they came', () => {
    const items = filled(3);
    expect(idsOf(list)).to.deep.equal([0, 1, 2]);
    expect(list.size).to.equal(3);
    expect(items.map((one) => list.has(one))).to.deep.equal([true, true, true]);
  });

  it('finds the first that is meant', () => {
    const items = filled(4);
    expect(list.find(({ id }) => id > 1)).to.equal(items[2]);
    expect(list.find(({ id }) => id > 3)).to.equal(undefined);
    expect(new LinkedList<Item>().find(() => true)).to.equal(undefined);
  });

  // A Set does the same by definition, and is what stood in its place.
  it('does what a Set does, whatever is added and removed', () => {
    const items = Array.from({ length: 6 }, (_, id) => item(id));
    const model = new Set<Item>();
    let random = 7;
    for (let step = 0; step < 2000; step++) {
      random = (random * 48_271) % 2_147_483_647;
      const one = items[random % items.length];
      if (one === undefined) continue;
      if (model.has(one) || random % 7 === 0) {
        expect(list.remove(one), `step ${step}`).to.equal(model.delete(one));
      } else {
        list.add(one);
        model.add(one);
      }
      expect(list.toArray(), `step ${step}`).to.deep.equal([...model]);
      expect(list.size).to.equal(model.size);
      expect(items.map((each) => list.has(each))).to.deep.equal(
        items.map((each) => model.has(each)),
      );
    }
  });

  for (const [where, id] of Object.entries({ first: 0, last: 2, 'one between': 1 })) {
    it(`removes the ${where} once, and takes it again at its end`, () => {
      const items = filled(3);
      const [gone = item(0)] = items.splice(id, 1);
      expect([list.remove(gone), list.remove(gone)]).to.deep.equal([true, false]);
      expect(list.toArray()).to.deep.equal(items);
      expect([list.size, list.has(gone)]).to.deep.equal([2, false]);
      list.add(gone);
      expect(list.toArray()).to.deep.equal([...items, gone]);
    });
  }

  it('starts anew when all are gone', () => {
    for (const one of filled(2)) list.remove(one);
    expect([list.size, list.toArray()]).to.deep.equal([0, []]);
    filled(2);
    expect(idsOf(list)).to.deep.equal([0, 1]);
  });

  it('keeps nothing of those that are gone, nor they of it', () => {
    const items = filled(3);
    for (const one of items) list.remove(one);
    for (const { previous, next, list: where } of items) {
      expect([previous, next, where]).to.deep.equal([undefined, undefined, undefined]);
    }
  });

  it('knows its own from those of another list', () => {
    const other = new LinkedList<Item>();
    const [own = item(0)] = filled(1);
    const foreign = item(1);
    other.add(foreign);
    expect([list.has(foreign), list.remove(foreign), list.size]).to.deep.equal([false, false, 1]);
    expect([other.has(foreign), other.has(own), other.size]).to.deep.equal([true, false, 1]);
    expect(idsOf(other)).to.deep.equal([1]);
  });

  it('gives its items as they were when it was asked', () => {
    const seen: number[] = [];
    filled(3);
    for (const one of list.toArray()) {
      seen.push(one.id);
      list.remove(one);
      list.add(item(one.id + 10));
    }
    expect(seen).to.deep.equal([0, 1, 2]);
    expect(idsOf(list)).to.deep.equal([10, 11, 12]);
  });
});
