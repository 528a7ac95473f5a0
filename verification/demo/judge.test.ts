import { expect } from 'chai';
import { Board } from '../../demo/board.js';
import { drawFrame } from '../../demo/frame.js';
import { Judge } from '../../demo/judge.js';
import { JudgeServer, jobUrl } from '../../demo/judge-server.js';
import { choosePaint } from '../../demo/paint.js';
import { prove } from '../../demo/proof.js';
import { eventually } from '../../test/support/eventually.js';

type Visit = Parameters<Judge['enter']>[0];

const visit = (worker: number, slot: number, fencingToken = worker): Visit => {
  return { worker, slot, fencingToken };
};

describe('the judge of the demo', () => {
  for (const [limit, visits, violations] of [
    [4, [1, 2, 3, 4].map((worker) => visit(worker, worker - 1)), []],
    [
      4,
      [1, 2, 3, 4, 5].map((worker) => visit(worker, worker - 1)),
      ['peak in flight: 5, but only 4 are allowed'],
    ],
    [2, [visit(1, 0, 10), visit(2, 0, 11)], ['workers 1 and 2 had slot 0 at once']],
  ] as const) {
    it(`finds ${violations[0] ?? 'nothing'}`, () => {
      const judge = new Judge(limit);
      for (const one of visits) judge.enter(one);
      for (const one of visits) judge.leave(one, 'answered');
      expect(judge.violations()).to.deep.equal(violations);
      const facts = { backend: '', crew: '', workers: 5, killing: 'none', lost: 0 } as const;
      const { holds } = prove({ ...facts, problems: [], judge });
      expect(holds).to.equal(violations.length === 0);
      // Again, with the same fencing tokens.
      judge.enter(visits[0]);
      expect(judge.violations().at(-1)).to.match(/^slot 0: fencing token \d+ came after \d+$/);
    });
  }

  it('counts a request that it never answers until its connection closes', async () => {
    const server = await JudgeServer.start(1, { fastest: 2000, slowest: 2001 });
    const abort = new AbortController();
    const request = fetch(jobUrl(server.url, visit(1, 0)), { signal: abort.signal });
    const cut = request.catch((error: unknown) => error);
    await eventually(() => server.withholdNewest() !== undefined);
    expect(server.judge.inFlight).to.have.length(1);
    abort.abort();
    await cut;
    await eventually(() => server.judge.inFlight.length === 0);
    expect([server.judge.cutOff, server.judge.served]).to.deep.equal([1, 0]);
    await server.stop();
  });
});

it('the live view of the demo shows who runs, waits and was killed, on 80 columns, in colors unless NO_COLOR is set', () => {
  const board = new Board(20, 4);
  const draw = (environment: NodeJS.ProcessEnv): string => {
    const moment = { now: performance.now(), elapsed: 12_345, events: ['x'.repeat(200)] };
    const lines = drawFrame({ board, judge: new Judge(4) }, moment, choosePaint(environment));
    return lines.join('\n');
  };
  board.update({ worker: 3, state: 'running', slot: 0 });
  board.update({ worker: 7, state: 'running', slot: 2 });
  board.update({ worker: 7, state: 'killed', slot: 2 });
  board.update({ worker: 9, state: 'waiting' });
  const text = draw({ NO_COLOR: '1' });
  expect(text).to.contain('[w03 ][    ][w07!][    ]');
  for (const worker of ['w03 running slot 0 ', 'w07 killed slot 2 ', 'w09 waiting \\d+\\.\\d s ']) {
    expect(text).to.match(new RegExp(worker));
  }
  expect(text)
    .to.match(/^(?:.{0,80}\n)*.{0,80}$/)
    .and.not.contain('\u001B');
  expect(draw({})).to.contain('\u001B[');
  board.update({ worker: 8, state: 'running', slot: 2 });
  expect(board.holders).to.deep.equal([3, undefined, 8, undefined]);
});
