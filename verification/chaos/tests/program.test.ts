import { expect } from 'chai';
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { checkHistory, checkRun } from '../checker/check-history.js';
import { MalformedHistoryError, putTogether } from '../checker/put-together.js';
import { readCommandLine } from '../command-line.js';
import { readHistory } from '../history/read-history.js';
import { Recorder } from '../history/recorder.js';
import { planOf } from '../run-chaos.js';
import { writeReport } from '../report/write-report.js';
import { faultKindsOf } from '../topologies/catalog.js';
import {
  makeTemporaryFolder,
  removeTemporaryFolder,
} from '../../../test/support/temporary-folder.js';
import { madeUp } from './made-up-history.js';

describe('the program of chaos runs', () => {
  let folder: string;

  beforeEach(() => {
    folder = makeTemporaryFolder();
  });

  afterEach(() => removeTemporaryFolder(folder));

  it('refuses arguments that it does not understand', () => {
    expect(readCommandLine([])).to.include({ seed: 1, minutes: 1, ttl: 1000, topology: 'single' });
    for (const args of ['--seed=x', '--minutes=0', '--ttl=50', '--topology=ring', '--sed=1']) {
      expect(() => readCommandLine([args]), args).to.throw(
        /--seed|--sed|--minutes|--ttl|--topology/,
      );
    }
  });

  it('plans by the seed alone: each kind once before any comes again, one fault at a time', () => {
    for (const topology of ['single', 'sentinel', 'cluster', 'quorum'] as const) {
      const options = { seed: 7, minutes: 3, topology };
      const plan = planOf(options);
      const kinds = faultKindsOf(topology);
      expect(plan.slice(0, kinds.length).map(({ kind }) => kind)).to.have.members(kinds);
      expect(planOf(options)).to.deep.equal(plan);
      expect(planOf({ ...options, seed: 8 })).to.not.deep.equal(plan);
      const short = planOf({ ...options, minutes: 1 });
      expect(plan.slice(0, short.length)).to.deep.equal(short);
      let [free, clock] = [0, 0];
      for (const { at, lasts, kind, step = 0 } of plan) {
        expect(at).to.be.at.least(free);
        free = at + lasts;
        clock += step;
        expect(clock).to.be.oneOf([-5000, 0, 5000]);
        if (kind === 'stop-process') expect(lasts, 'longer than the ttl').to.be.above(1000);
      }
      expect(free).to.be.at.most(3 * 60_000);
    }
  });

  it('reads files of several processes as one history, where a killed one may leave a part of a line', () => {
    const [first, second] = [new Recorder(folder, 'w1'), new Recorder(folder, 'w2')];
    first.record({ type: 'quiet', at: 3 });
    second.record({ type: 'quiet', at: 2 });
    second.record({ type: 'stall', at: 4, lasted: 1 });
    for (const recorder of [first, second]) recorder.close();
    appendFileSync(join(folder, 'w1.jsonl'), '{"at":12,"proc');
    expect(readHistory(folder)).to.deep.equal([
      { at: 2, process: 'w2', type: 'quiet' },
      { at: 3, process: 'w1', type: 'quiet' },
      { at: 4, process: 'w2', type: 'stall', lasted: 1 },
    ]);
    appendFileSync(join(folder, 'w1.jsonl'), '\n{"at":13,"process":"w1","type":"quiet"}\n');
    expect(() => readHistory(folder)).to.throw(/w1\.jsonl: line 2 of 3/);
  });

  it('refuses a history that contradicts itself', () => {
    const lost = { type: 'lost', at: 1, process: 'w1', ticket: 'x', reason: 'missing' } as const;
    const end = { type: 'ok', at: 700, process: 'w1', call: 0 } as const;
    const asked = madeUp('w1 asks 100-600 fail 500');
    for (const [title, events] of Object.entries({
      'two runs': [...asked, ...madeUp('')],
      'no run': asked.slice(1),
      'a call that ends twice': [...asked, end],
      'a call that ends without having begun': [...madeUp(''), end],
      'a ticket that is granted twice': madeUp('w1 10-20 id=a; w1 30-40 id=a'),
      'a loss of a ticket that nobody was granted': [...madeUp(''), lost],
    })) {
      expect(() => checkHistory(events), title).to.throw(MalformedHistoryError);
    }
  });

  it('checks 240 000 events and 200 faults without going over them again and again', () => {
    const times = Array.from({ length: 60_000 }, (_, i) => 100 + i * 25);
    const holds = times.map((at, i) => `w${i % 16}/${i % 4} ${at - 50} ${at}-${at + 90}`);
    const faults = holds.slice(0, 200).map((_, i) => `!flush-data ${1000 + i * 7000}`);
    const events = madeUp(`limit=4; ${[...holds, ...faults].join('; ')}`);
    expect(events).to.have.lengthOf.above(240_000);
    // Made so regularly, some holders seem not to have noticed.
    const rules = checkHistory(events).map(({ rule }) => rule);
    expect([...new Set(rules)]).to.deep.equal(['told']);
  });

  it('reports figures, the plan, pictures, and what was not kept', () => {
    const run = putTogether(
      madeUp('limit=1; w1 100-200; !flush-data 2000-2010; quiet 2500; w1 2600-2700; w3 2650-2800'),
    );
    const plan = [{ at: 2000, kind: 'flush-data', lasts: 0 }] as const;
    const path = writeReport(folder, { command: 'again', plan, run, violations: checkRun(run) });
    const report = readFileSync(path, 'utf8');
    for (const part of [
      ...['`again`: limit 1', '2.0 s  flush-data', '(timeline.svg)', '(close-up.svg)'],
      ...['| permits granted | 3 |', '| calls of acquire | 3 ok |', '| faults | 1 flush-data |'],
      '| 2.650 | limit | 2 of 1 permits are held: w1.2600, w3.2650 |',
    ]) {
      expect(report).to.include(part);
    }
    expect(readFileSync(join(folder, 'timeline.svg'), 'utf8')).to.match(/^<svg.*slot 0/s);
  });
});
