import { expect } from 'chai';
import { Judge } from '../../demo/judge.js';
import { prove } from '../../demo/proof.js';

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
});
