import { expect } from 'chai';

import { GroupCommit } from '../../src/group-commit.js';

describe('group commit', () => {
  /** Batches in the order of sending; each stays under way until it is let go. */
  function lane() {
    const batches: number[][] = [];
    const doors: (() => void)[] = [];
    const commit = new GroupCommit<number>((batch, done) => {
      batches.push(batch);
      doors.push(done);
    });
    const letGo = async (): Promise<void> => {
      doors.shift()?.();
      await turn();
    };
    return { commit, batches, letGo };
  }

  it('sends what is added in one turn together', async () => {
    const { commit, batches } = lane();
    for (let i = 0; i < 5; i++) commit.add(i);
    expect(batches).to.deep.equal([]);
    await turn();
    expect(batches).to.deep.equal([[0, 1, 2, 3, 4]]);
  });

  it('sends a lone item before the event loop turns', async () => {
    const { commit, batches } = lane();
    let turned = false;
    setImmediate(() => (turned = true));
    commit.add(7);
    await new Promise<void>((resolve) => process.nextTick(resolve));
    expect(turned).to.equal(false);
    expect(batches).to.deep.equal([[7]]);
  });

  it('gathers while a batch is under way, and sends that at once when it is back', async () => {
    const { commit, batches, letGo } = lane();
    commit.add(1);
    await turn();
    commit.add(2);
    await turn();
    commit.add(3);
    await turn();
    expect(batches).to.deep.equal([[1]]);
    await letGo();
    expect(batches).to.deep.equal([[1], [2, 3]]);
  });

  it('takes along what those want next whom the reply woke', async () => {
    const { commit, batches, letGo } = lane();
    commit.add(1);
    await turn();
    commit.add(2);
    const back = letGo();
    void Promise.resolve().then(() => commit.add(3));
    await back;
    expect(batches).to.deep.equal([[1], [2, 3]]);
  });

  it('never sends more than 1000 in one call, and loses none', async () => {
    const { commit, batches, letGo } = lane();
    for (let i = 0; i < 2500; i++) commit.add(i);
    await turn();
    commit.add(2500);
    for (let i = 0; i < 100; i++) await letGo();
    expect(Math.max(...batches.map(({ length }) => length))).to.equal(1000);
    expect(batches.flat()).to.deep.equal(Array.from({ length: 2501 }, (_, i) => i));
  });

  it('starts anew after it was idle, and sends nothing when there is nothing', async () => {
    const { commit, batches, letGo } = lane();
    for (const item of [1, 2]) {
      commit.add(item);
      await turn();
      await letGo();
      await turn();
    }
    expect(batches).to.deep.equal([[1], [2]]);
  });

  function turn(): Promise<void> {
    return new Promise((resolve) => void setImmediate(resolve));
  }
});
