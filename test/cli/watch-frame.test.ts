import { expect } from 'chai';
import type { Sight } from '../../src/cli/operator.js';
import { frame } from '../../src/cli/watch/frame.js';
import { permitBar, sparkline } from '../../src/cli/watch/graphs.js';
import { History } from '../../src/cli/watch/history.js';
import { keysIn } from '../../src/cli/watch/keys.js';
import type { View } from '../../src/cli/watch/view.js';
import { widthOf } from '../../src/cli/text-width.js';
import { sightOf } from './sights.js';

function viewOf(sights: readonly Sight[], changes: Partial<View> = {}): View {
  const watched = sights.map((sight) => ({ sight, history: new History() }));
  const still = { order: 0, selected: 0, message: undefined, trouble: undefined, now: 0 };
  return { name: sights.length === 1 ? sights[0]?.name : undefined, watched, ...still, ...changes };
}

function texts(view: View, columns: number, rows: number): string[] {
  return frame(view, { columns, rows }).map(({ text }) => text);
}

function column(view: View, pattern: RegExp): string[] {
  return texts(view, 120, 40).flatMap((text) => pattern.exec(text)?.[1] ?? []);
}

describe('the frame of redsem watch', () => {
  it('fits the screen whatever its size and whatever it shows', () => {
    const crowd = sightOf('name\n'.repeat(50), 1000, 300, 100);
    const question = { message: `Take ${'x'.repeat(500)}? y/N`, trouble: '漢'.repeat(200) };
    for (const [columns, rows] of [
      [200, 60],
      [80, 24],
      [40, 12],
      [20, 5],
      [5, 2],
      [1, 1],
    ] as const) {
      for (const view of [viewOf([crowd]), viewOf([crowd, crowd]), viewOf([crowd], question)]) {
        const lines = texts(view, columns, rows);
        expect(lines).to.have.length(rows);
        for (const line of lines) expect(widthOf(line)).to.be.at.most(columns);
        expect(lines.join('')).not.to.match(/\p{Cc}/u);
      }
    }
  });

  it('keeps the selected holder and the first who waits in sight', () => {
    const view = viewOf([sightOf('many', 300, 300, 50)], { selected: 250 });
    const lines = frame(view, { columns: 120, rows: 30 });
    const [selected, ...others] = lines.filter(({ style }) => style === 'selected');
    expect(others).to.deep.equal([]);
    expect(selected?.text).to.match(/^250 .*many\.250/);
    expect(lines.some(({ text }) => text.includes('waiter 0'))).to.equal(true);
  });

  it('has the orders that the keys go through', () => {
    const slots = [0, 1, 2, 3].map((order) =>
      column(viewOf([sightOf('s', 4, 4)], { order }), /^(\d) /).join(''),
    );
    expect(slots).to.deep.equal(['0123', '3210', '3210', '0321']);
    const several = [sightOf('b', 3, 1, 5), sightOf('a', 3, 2, 0), sightOf('c', 3, 3, 9)];
    const names = [0, 1, 2].map((order) =>
      column(viewOf(several, { order }), /^([abc]) /).join(''),
    );
    expect(names).to.deep.equal(['abc', 'cab', 'cba']);
  });

  it('shows in the list what is not known, and what nobody holds, as such', () => {
    const lines = texts(viewOf([sightOf('new', null, 0), sightOf('old', 2, 1)]), 100, 10);
    const [title, , head, ...rows] = lines;
    expect(title).to.equal('2 semaphores');
    expect(head).to.match(/^NAME +HELD +WAITING +GRANTS\/S +LONGEST HOLD$/);
    expect(rows[0]).to.match(/^new +0\/\? +░ +0 +0\.0$/);
    expect(rows[1]).to.match(/^old +1\/2 +█░ +0 +0\.0 +0ms$/);
  });

  it('shows permits as a bar', () => {
    expect(permitBar(2, 5, 10)).to.equal('██░░░');
    expect(permitBar(0, 5, 10)).to.equal('░░░░░');
    expect(permitBar(7, 5, 10)).to.equal('███████');
    expect(permitBar(1, 1000, 10)).to.equal('█░░░░░░░░░');
    expect(permitBar(999, 1000, 10)).to.equal('█████████░');
    expect(permitBar(3, null, 10)).to.equal('███');
  });

  it('draws values by their share', () => {
    expect(sparkline([0, 1, 4, 8])).to.equal(' ▁▄█');
    expect(sparkline([1, 2], 2)).to.equal('▄█');
    expect(sparkline([])).to.equal('');
  });
});

describe('the history of redsem watch', () => {
  const held = (...ids: string[]): Sight => {
    const sight = sightOf('x', 9, ids.length);
    return {
      ...sight,
      holders: sight.holders.map((holder, i) => ({ ...holder, id: ids[i] ?? '' })),
    };
  };

  it('counts the tickets that are new at a look, but not those of the first', () => {
    const history = new History();
    history.add(0, held('a', 'b'));
    history.add(1000, held('a', 'b', 'c'));
    history.add(2000, held('d', 'e'));
    expect(history.grants(2500).slice(-3)).to.deep.equal([0, 1, 2]);
    expect(history.held(2500).slice(-3)).to.deep.equal([2, 3, 2]);
    expect(history.grantRate(2000)).to.equal(1.5);
  });

  it('goes back a minute, and the rate ten seconds', () => {
    const history = new History();
    history.add(0, held());
    history.add(1000, held('a'));
    history.add(30_000, held('a'));
    expect(history.grants(60_000)).to.have.length(60);
    expect(history.grants(60_000)[0]).to.equal(1);
    expect(history.grants(61_000).every((grants) => grants === 0)).to.equal(true);
    expect(history.grantRate(10_000)).to.equal(0.1);
    expect(history.grantRate(11_000)).to.equal(0);
    expect(history.held(59_000).slice(-40)).to.deep.equal(Array.from({ length: 40 }, () => 1));
  });

  it('keeps no more than a minute, however long is watched', () => {
    const history = new History();
    for (let second = 0; second <= 200; second += 1) {
      history.add(second * 1000, held(`ticket ${second}`));
    }
    // Each second had a new ticket; what was before the minute is not there any more.
    expect(history.grants(200_000)).to.deep.equal(Array.from({ length: 60 }, () => 1));
    expect(history.grants(140_000).every((grants) => grants === 0)).to.equal(true);
    expect(history.grantRate(200_000)).to.equal(1);
  });
});

describe('the keys of redsem watch', () => {
  it('are read one by one, however they come', () => {
    expect(keysIn('\u001b[A\u001b[Bjk')).to.deep.equal(['up', 'down', 'down', 'up']);
    expect(keysIn('\u001bOA\r\u001b')).to.deep.equal(['up', 'enter', 'escape']);
    expect(keysIn('sry\u0003')).to.deep.equal(['sort', 'revoke', 'yes', 'quit']);
    // Neither a function key nor a pasted sign is an answer.
    expect(keysIn('\u001b[15~é')).to.deep.equal(['other', 'other']);
    expect(keysIn('')).to.deep.equal([]);
  });
});
