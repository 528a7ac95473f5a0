import { expect } from 'chai';

import { WeakValues } from '../../src/weak-values.js';
import { collectOften, collectUntil } from '../support/garbage.js';

describe('weak values', () => {
  interface Value {
    readonly text: string;
  }

  /** A value that nobody else keeps. */
  function addDropped(values: WeakValues<Value>, name: string): WeakRef<Value> {
    const value = { text: 'dropped' };
    values.set(name, value);
    return new WeakRef(value);
  }

  it('are found for as long as somebody keeps them', async () => {
    const values = new WeakValues<Value>();
    const kept = { text: 'kept' };
    values.set('kept', kept);
    const dropped = addDropped(values, 'dropped');
    await collectUntil(() => dropped.deref() === undefined);
    expect(values.get('kept')).to.equal(kept);
    expect(values.get('dropped')).to.equal(undefined);
    expect(values.get('never')).to.equal(undefined);
    expect([...values.values()]).to.deep.equal([kept]);
  });

  it('take no memory by their names once they are gone', async () => {
    const values = new WeakValues<Value>();
    addDropped(values, 'dropped');
    const kept = { text: 'kept' };
    values.set('kept', kept);
    expect(values.size).to.equal(2);
    await collectUntil(() => values.size === 1);
    expect(values.get('kept')).to.equal(kept);
  });

  it('keep a newer value of the same name when the older one is collected', async () => {
    const values = new WeakValues<Value>();
    const older = addDropped(values, 'name');
    const newer = { text: 'newer' };
    values.set('name', newer);
    await collectUntil(() => older.deref() === undefined);
    // What waits for that collection is told a little later.
    await collectOften();
    expect(values.get('name')).to.equal(newer);
  });
});
