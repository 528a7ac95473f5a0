import { expect } from 'chai';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';

import { checkHistory } from '../checker/check-history.js';
import { MalformedHistoryError } from '../checker/assemble-run.js';
import { readHistory } from '../../history/read-history.js';
import { Recorder } from '../history/recorder.js';
import {
  makeTemporaryFolder,
  removeTemporaryFolder,
} from '../../../test/support/temporary-folder.js';
import { scriptedHistory } from './scripted-history.js';

describe('the program of chaos runs', () => {
  let folder: string;

  beforeEach(() => {
    folder = makeTemporaryFolder();
  });

  afterEach(() => removeTemporaryFolder(folder));

  it('reads files of several processes as one history, where a killed one may leave a part of a line', () => {
    const [first, second] = [new Recorder(folder, 'w1'), new Recorder(folder, 'w2')];
    first.record({ type: 'quiet', at: 3 });
    second.record({ type: 'quiet', at: 2 });
    second.record({ type: 'stall', at: 4, from: 3, until: 4 });
    for (const recorder of [first, second]) recorder.close();
    appendFileSync(join(folder, 'w1.jsonl'), '{"at":12,"proc');
    expect(readHistory(folder)).to.deep.equal([
      { at: 2, process: 'w2', type: 'quiet' },
      { at: 3, process: 'w1', type: 'quiet' },
      { at: 4, process: 'w2', type: 'stall', from: 3, until: 4 },
    ]);
    appendFileSync(join(folder, 'w1.jsonl'), '\n{"at":13,"process":"w1","type":"quiet"}\n');
    expect(() => readHistory(folder)).to.throw(/w1\.jsonl: line 2 of 3/);
  });

  it('refuses a history that contradicts itself', () => {
    const lost = {
      type: 'lost',
      at: 1,
      process: 'w1',
      ticket: 'x',
      token: 1,
      reason: 'missing',
    } as const;
    const end = { type: 'ok', at: 700, process: 'w1', call: 0 } as const;
    const asked = scriptedHistory('w1 asks 100-600 fail 500');
    for (const [title, events] of Object.entries({
      'two runs': [...asked, ...scriptedHistory('')],
      'no run': asked.slice(1),
      'a call that ends twice': [...asked, end],
      'a call that ends without having begun': [...scriptedHistory(''), end],
      'a ticket that is granted twice': scriptedHistory('w1 10-20 id=a; w1 30-40 id=a'),
      'a loss of a ticket that nobody was granted': [...scriptedHistory(''), lost],
    })) {
      expect(() => checkHistory(events), title).to.throw(MalformedHistoryError);
    }
  });
});
