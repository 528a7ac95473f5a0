import { expect } from 'chai';

import { IndexedList } from '../../src/indexed-list.js';
import type { Linked } from '../../src/linked-list.js';

interface Item extends Linked<Item> {
  readonly id: string;
}

describe('indexed list', () => {
  /** Counts how often all items are walked. */
  class Watched extends IndexedList<Item> {
    walks = 0;

    override toArray(): Item[] {
      this.walks += 1;
      return super.toArray();
    }
  }

  const itemOf = (id: string): Item => ({
    id,
    previous: undefined,
    next: undefined,
    list: undefined,
  });

  it('finds items by id, and walks through all of them once only', () => {
    const list = new Watched();
    const items = Array.from({ length: 1000 }, (_, i) => itemOf(String(i)));
    for (const item of items) list.add(item);
    for (const item of items) expect(list.get(item.id)).to.equal(item);
    const late = itemOf('late');
    list.add(late);
    expect(list.get('late')).to.equal(late);
    expect(list.remove(late)).to.equal(true);
    expect(list.get('late')).to.equal(undefined);
    expect(list.walks).to.equal(1);
  });

  it('walks for nobody who does not ask, nor when it is empty', () => {
    const list = new Watched();
    const item = itemOf('a');
    for (let i = 0; i < 10; i++) {
      list.add(item);
      list.remove(item);
      expect(list.get('a')).to.equal(undefined);
    }
    expect(list.walks).to.equal(0);
  });

  it('knows nothing of what it had before it was empty', () => {
    const list = new Watched();
    const [a, b] = [itemOf('a'), itemOf('b')];
    list.add(a);
    expect(list.get('a')).to.equal(a);
    list.remove(a);
    list.add(b);
    expect([list.get('a'), list.get('b')]).to.deep.equal([undefined, b]);
  });
});
