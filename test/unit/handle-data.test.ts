import { expect } from 'chai';

import type { HandleData } from '../../src/handle.js';
import { checkHandleData } from '../../src/handle-data.js';

describe('the data of a handle', () => {
  const good: HandleData = { name: 'jobs', id: 'abc-_9.1z', slots: [0], fencingToken: 5 };

  function refusalOf(data: unknown): string {
    try {
      checkHandleData(data as HandleData, 'jobs');
    } catch (error) {
      expect(error).to.be.instanceOf(TypeError);
      return (error as TypeError).message;
    }
    throw new Error('it was not refused');
  }

  it('are taken as another process wrote them', () => {
    for (const data of [
      good,
      { ...good, id: 'abc.1z.12', slots: [0, 5, 7] },
      { ...good, id: 'abc.1z~def.2', fencingToken: Number.MAX_SAFE_INTEGER },
      { ...good, id: 'abc.1z.3~def.2.3', slots: [1, 2, 3] },
      { ...good, sentBy: 'a queue' },
    ]) {
      const read = JSON.parse(JSON.stringify(data)) as HandleData;
      expect(checkHandleData(read, 'jobs')).to.equal(read);
    }
  });

  it('are refused where they are none', () => {
    expect(refusalOf(undefined)).to.equal('ticket: expected the data of a handle, got undefined');
    expect(refusalOf(null)).to.equal('ticket: expected the data of a handle, got null');
    expect(refusalOf('abc.1')).to.equal("ticket: expected the data of a handle, got 'abc.1'");
    expect(refusalOf(5)).to.equal('ticket: expected the data of a handle, got 5');
  });

  const wrong: Record<string, readonly unknown[]> = {
    name: ['other', '', undefined, 5, 'jobs '],
    id: ['', 'abc', 'a b.1', 'a.1;', 'a.1|b', 'a.1~', '~a.1', 'a.1~b.1~c.1', 'a.1\n', 5, undefined],
    slots: [[], ['0'], [0.5], [NaN], 0, '0', {}, undefined],
    fencingToken: ['5', 1.5, NaN, Infinity, 2 ** 53, undefined, null],
  };

  for (const [field, values] of Object.entries(wrong)) {
    it(`are refused with a wrong ${field}, which is named and shown`, () => {
      for (const value of values) {
        const message = refusalOf({ ...good, [field]: value });
        expect(message).to.match(new RegExp(`^ticket\\.${field}: expected .+, got `, 's'));
      }
    });
  }

  it('of another semaphore name the one that is expected', () => {
    const message = refusalOf({ ...good, name: 'other' });
    expect(message).to.equal(`ticket.name: expected "jobs", this semaphore, got 'other'`);
  });
});
