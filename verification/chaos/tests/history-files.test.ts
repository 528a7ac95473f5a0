import { expect } from 'chai';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';

import { checkHistory } from '../checker/check-history.js';
import { MalformedHistoryError } from '../checker/put-together.js';
import { readHistory } from '../../history/read-history.js';
import { Recorder } from '../history/recorder.js';
import {
  makeTemporaryFolder,
  removeTemporaryFolder,
} from '../../../test/support/temporary-folder.js';
import { startWorker } from '../../../test/support/worker-process.js';
import { MadeUpHistory } from './made-up-history.js';

describe('history files', () => {
  let folder: string;

  beforeEach(() => {
    folder = makeTemporaryFolder();
  });

  afterEach(() => removeTemporaryFolder(folder));

  it('of several processes become one history in order of time', () => {
    const [first, second] = [new Recorder(folder, 'w1'), new Recorder(folder, 'w2')];
    first.record({ type: 'quiet', at: 3 });
    second.record({ type: 'quiet', at: 2 });
    second.record({ type: 'stall', at: 4, from: 3, until: 4 });
    first.close();
    second.close();
    expect(readHistory(folder)).to.deep.equal([
      { at: 2, process: 'w2', type: 'quiet' },
      { at: 3, process: 'w1', type: 'quiet' },
      { at: 4, process: 'w2', type: 'stall', from: 3, until: 4 },
    ]);
  });

  it('lose nothing that was recorded before the process was killed', async () => {
    const script = new URL('recording-worker.ts', import.meta.url);
    const worker = startWorker(script, { folder, process: 'w1' });
    const { data: recorded } = await worker.next('recorded');
    worker.kill();
    await worker.exited;
    expect(readHistory(folder)).to.have.lengthOf.at.least(recorded as number);
  });

  it('may end within a line, as a killed process leaves it', () => {
    const recorder = new Recorder(folder, 'w1');
    recorder.record({ type: 'quiet' });
    recorder.close();
    appendFileSync(join(folder, 'w1.jsonl'), '{"at":12,"proc');
    expect(readHistory(folder)).to.have.lengthOf(1);
  });

  it('with a broken line anywhere else are refused, with file and line', () => {
    const line = '{"at":1,"process":"w1","type":"quiet"}\n';
    appendFileSync(join(folder, 'w1.jsonl'), `${line}{"at":12,"proc\n${line}`);
    expect(() => readHistory(folder)).to.throw(/w1\.jsonl: line 2 of 3/);
  });
});

describe('a history that contradicts itself is refused:', () => {
  const cases: Record<string, MadeUpHistory> = {
    'two runs': new MadeUpHistory().add(...new MadeUpHistory().events),
    'a call that ends without having begun': new MadeUpHistory().add({
      type: 'fail',
      at: 1,
      process: 'w1',
      call: 7,
      error: 'none',
    }),
    'a call that ends twice': new MadeUpHistory()
      .request('w1', 1, 2, 'fail', 10)
      .add({ type: 'ok', at: 3, process: 'w1', call: 1 }),
    'a ticket that is granted twice': new MadeUpHistory()
      .hold({ id: 'a', from: 10, to: 20 })
      .hold({ id: 'a', from: 30, to: 40 }),
    'a loss of a ticket that nobody was granted': new MadeUpHistory().add({
      type: 'lost',
      at: 1,
      process: 'w1',
      ticket: 'x',
      token: 1,
      reason: 'missing',
    }),
  };
  for (const [title, { events }] of Object.entries(cases)) {
    it(title, () => {
      expect(() => checkHistory(events)).to.throw(MalformedHistoryError);
    });
  }

  it('no run event', () => {
    const { events } = new MadeUpHistory().hold({ from: 10, to: 20 });
    expect(() => checkHistory(events.slice(1))).to.throw(MalformedHistoryError, 'no run event');
  });
});

describe('a long history', () => {
  it('of 240,000 events and 200 faults is checked without going over it again and again', function () {
    // A check that takes the square of the events would take hours.
    this.timeout(120_000);
    const madeUp = new MadeUpHistory({ limit: 4 });
    for (let i = 0; i < 60_000; i += 1) {
      const from = 100 + i * 25;
      madeUp.hold({ by: `w${i % 16}`, slots: [i % 4], invoked: from - 50, from, to: from + 90 });
    }
    for (let i = 0; i < 200; i += 1) madeUp.fault('flush-data', 1000 + i * 7000, 1001 + i * 7000);
    const { events } = madeUp;
    expect(events).to.have.lengthOf.above(240_000);
    const rules = new Set(checkHistory(events).map(({ rule }) => rule));
    // Made so regularly, some holders seem not to have noticed.
    expect([...rules]).to.deep.equal(['told']);
  });
});
