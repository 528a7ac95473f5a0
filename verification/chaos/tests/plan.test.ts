import { expect } from 'chai';

import { describePlan } from '../nemesis/describe-plan.js';
import { planFaults } from '../nemesis/plan.js';
import { planOf } from '../run-chaos.js';
import { faultKindsOf } from '../topologies/catalog.js';

describe('plan of faults', () => {
  const options = { seed: 7, minutes: 3, topology: 'single' } as const;

  it('is the same for the same seed, length and topology', () => {
    expect(planOf({ ...options })).to.deep.equal(planOf({ ...options }));
  });

  it('differs between seeds and between topologies', () => {
    const plans = [options, { ...options, seed: 8 }, { ...options, topology: 'cluster' } as const];
    const texts = new Set(plans.map((each) => describePlan(planOf(each))));
    expect(texts.size).to.equal(3);
  });

  it('of a shorter run is the beginning of that of a longer one', () => {
    const short = planOf({ ...options, minutes: 1 });
    expect(short).to.have.lengthOf.above(5);
    expect(planOf(options).slice(0, short.length)).to.deep.equal(short);
  });

  it('has every kind once before any comes again', () => {
    for (const topology of ['single', 'sentinel', 'cluster', 'quorum'] as const) {
      const kinds = faultKindsOf(topology);
      const plan = planOf({ ...options, topology }).map(({ kind }) => kind);
      expect(plan.slice(0, kinds.length)).to.have.members(kinds);
    }
  });

  it('has one fault at a time, within its minutes', () => {
    let free = 0;
    for (const { at, lasts } of planOf(options)) {
      expect(at).to.be.at.least(free);
      free = at + lasts;
    }
    expect(free).to.be.at.most(3 * 60_000);
  });

  it('stops processes for longer than the ttl', () => {
    const stops = planOf(options).filter(({ kind }) => kind === 'stop-process');
    expect(stops).to.not.be.empty;
    for (const { lasts } of stops) expect(lasts).to.be.above(1000);
  });

  it('never moves the clock further than 5 s from where it stood', () => {
    const plan = planFaults({ seed: 3, minutes: 5, kinds: ['step-clock'], workers: 4, ttl: 1000 });
    const steps = plan.map(({ step = 0 }) => step);
    let clock = 0;
    for (const step of steps) {
      clock += step;
      expect(Math.abs(step)).to.equal(5000);
      expect(Math.abs(clock)).to.be.at.most(5000);
    }
    expect(new Set(steps).size).to.equal(2);
  });
});
