import { expect } from 'chai';

import {
  adoptedId,
  checkTicketId,
  firstId,
  newClientId,
  parseTicketId,
  ticketId,
} from '../../src/ticket-id.js';

describe('ticket ids', () => {
  it('tell client, number and permits', () => {
    for (const client of ['a', 'A-_9', newClientId()]) {
      for (const number of [0, 1, 35, 36, 2 ** 40, Number.MAX_SAFE_INTEGER]) {
        for (const permits of [1, 2, 100_000]) {
          expect(parseTicketId(ticketId(client, number, permits))).to.deep.equal({
            client,
            number,
            permits,
          });
        }
      }
    }
  });

  it('are short: the permits stand in them only when there are more than one', () => {
    expect(ticketId('abc', 71, 1)).to.equal('abc.1z');
    expect(ticketId('abc', 71, 12)).to.equal('abc.1z.12');
  });

  it('differ for every number and every weight', () => {
    const seen = new Set<string>();
    for (let number = 0; number < 2000; number++) {
      for (const permits of [1, 2, 36]) seen.add(ticketId('c', number, permits));
    }
    expect(seen.size).to.equal(6000);
  });

  it('of something else are not read', () => {
    for (const text of [
      '',
      'a',
      'a.',
      '.1',
      'a.1.',
      'a.1.x',
      'a b.1',
      'a.1;2',
      'a.1.2.3',
      'a.-1',
      'ü.1',
      'a.1~',
      'a.1~b',
      '~a.1',
      'a.1~b.1~c.1',
      'a.1~b.1;',
      'a.1~b 1',
      'a.1\n',
    ]) {
      expect(parseTicketId(text), text).to.equal(undefined);
    }
  });

  it('of adopted tickets tell who has them now, and keep the first id through any number', () => {
    for (const permits of [1, 7]) {
      const first = ticketId('first', 35, permits);
      let id = first;
      for (let turn = 0; turn < 5; turn++) {
        const own = ticketId(newClientId(), turn, permits);
        id = adoptedId(own, id);
        expect(id).to.equal(`${own}~${first}`);
        expect(firstId(id)).to.equal(first);
        const client = own.slice(0, own.indexOf('.'));
        expect(parseTicketId(id)).to.deep.equal({ client, number: turn, permits });
      }
    }
  });

  it('that were never adopted are their own first ids', () => {
    expect(firstId('abc.1z')).to.equal('abc.1z');
    expect(firstId('abc.1z.12')).to.equal('abc.1z.12');
  });

  it('are checked where a caller gives them', () => {
    for (const id of ['abc.1z', 'abc.1z.12', 'abc.1~def.2', 'abc.1.3~def.2.3']) checkTicketId(id);
    for (const [id, shown] of [
      ['abc', "'abc'"],
      ['', "''"],
      ['a.1 b.2', "'a.1 b.2'"],
      [5, '5'],
      [undefined, 'undefined'],
    ]) {
      const expected = `ticketId: expected the id of a ticket, got ${String(shown)}`;
      expect(() => checkTicketId(id)).to.throw(TypeError, expected);
    }
  });

  it('have no sign that the scripts and their replies use', () => {
    for (let i = 0; i < 500; i++) expect(newClientId()).to.match(/^[\w-]{12}$/);
  });

  it('never look like an option of a command', () => {
    const options = Array.from({ length: 5000 }, () => newClientId()).filter((id) =>
      id.startsWith('-'),
    );
    expect(options).to.deep.equal([]);
  });

  it('of two clients never meet', () => {
    const clients = new Set(Array.from({ length: 10_000 }, () => newClientId()));
    expect(clients.size).to.equal(10_000);
  });
});
