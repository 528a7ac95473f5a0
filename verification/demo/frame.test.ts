import { expect } from 'chai';

import { Board } from '../../demo/board.js';
import { drawFrame } from '../../demo/frame.js';
import { Judge } from '../../demo/judge.js';
import { choosePaint } from '../../demo/paint.js';

function draw(environment: NodeJS.ProcessEnv, board: Board): string[] {
  const moment = { now: performance.now(), elapsed: 12_345, events: ['x'.repeat(200)] };
  return drawFrame({ board, judge: new Judge(4) }, moment, choosePaint(environment));
}

describe('the live view of the demo', () => {
  it('shows who runs, who waits and who was killed', () => {
    const board = new Board(20, 4);
    board.update({ worker: 3, state: 'running', slot: 0 });
    board.update({ worker: 7, state: 'running', slot: 2 });
    board.update({ worker: 7, state: 'killed', slot: 2 });
    board.update({ worker: 9, state: 'waiting' });
    const text = draw({ NO_COLOR: '1' }, board).join('\n');
    expect(text).to.contain('[w03 ][    ][w07!][    ]');
    expect(text).to.match(/w03 running slot 0 /);
    expect(text).to.match(/w07 killed slot 2 /);
    expect(text).to.match(/w09 waiting \d+\.\d s /);
  });

  it('hands a slot on to the worker that gets it next', () => {
    const board = new Board(20, 4);
    board.update({ worker: 7, state: 'running', slot: 2 });
    board.update({ worker: 7, state: 'killed', slot: 2 });
    board.update({ worker: 8, state: 'running', slot: 2 });
    expect(board.holders).to.deep.equal([undefined, undefined, 8, undefined]);
  });

  it('is never wider than 80 columns, and without colors when NO_COLOR is set', () => {
    for (const permits of [1, 4, 20]) {
      const board = new Board(20, permits);
      for (let worker = 1; worker <= permits; worker += 1) {
        board.update({ worker, state: 'running', slot: worker - 1 });
      }
      const lines = draw({ NO_COLOR: '1' }, board);
      expect(Math.max(...lines.map((line) => line.length))).to.be.at.most(80);
      expect(lines.join('')).to.not.contain('\u001B');
      expect(draw({}, board).join('')).to.contain('\u001B[');
    }
  });
});
