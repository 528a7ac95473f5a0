import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { checkRun } from '../checker/check-history.js';
import { putTogether } from '../checker/put-together.js';
import { writeReport } from '../report/write-report.js';
import {
  makeTemporaryFolder,
  removeTemporaryFolder,
} from '../../../test/support/temporary-folder.js';
import { MadeUpHistory } from './made-up-history.js';

describe('chaos report', () => {
  let folder: string;

  beforeEach(() => {
    folder = makeTemporaryFolder();
  });

  afterEach(() => removeTemporaryFolder(folder));

  function written(madeUp: MadeUpHistory): { report: string; timeline: string } {
    const run = putTogether(madeUp.events);
    const plan = [{ at: 2000, kind: 'flush-data', lasts: 0 }] as const;
    const path = writeReport(folder, { command: 'again', plan, run, violations: checkRun(run) });
    const timeline = readFileSync(join(folder, 'timeline.svg'), 'utf8');
    return { report: readFileSync(path, 'utf8'), timeline };
  }

  const sound = (): MadeUpHistory =>
    new MadeUpHistory({ limit: 1 })
      .hold({ from: 100, extendedUntil: 2000, lost: [{ at: 2300, reason: 'missing' }] })
      .fault('flush-data', 2000, 2010)
      .hold({ by: 'w2', from: 2050, to: 2200 })
      .quiet(2500)
      .hold({ from: 2600, to: 2700 });

  it('of a run without violations says so, and how to repeat it', () => {
    const { report } = written(sound());
    expect(report).to.include('## Every promise was kept').and.to.include('`again`: limit 1');
  });

  it('counts what happened', () => {
    const { report } = written(sound());
    expect(report).to.include('| permits granted | 3 |');
    expect(report).to.include('| calls of acquire | 3 ok |');
    expect(report).to.include('| losses that holders were told of | 1 missing |');
    expect(report).to.include('| faults | 1 flush-data |');
    expect(report).to.include('100 ms of 5000 allowed');
  });

  it('shows the plan and names its pictures', () => {
    const { report } = written(sound());
    expect(report).to.match(/2\.0 s {2}flush-data/);
    expect(report).to.include('(timeline.svg)').and.to.include('(close-up.svg)');
  });

  it('draws slots, faults and the limit', () => {
    const { timeline } = written(sound());
    expect(timeline).to.match(/^<svg/);
    expect(timeline).to.include('slot 0').and.to.include('flush-data');
  });

  it('lists what was not kept, with rule and time', () => {
    const { report } = written(sound().hold({ by: 'w3', from: 2650, to: 2800 }));
    expect(report).to.include('## Violations: 1');
    expect(report).to.match(/\| 2\.650 \| limit \| 2 of 1 permits are held: w1\.2600, w3\.2650 \|/);
  });
});
