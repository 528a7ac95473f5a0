import type * as port from '../backend.js';
import { script } from './compose-script.js';
import type { Operation } from './operation.js';
import { lettersOf, tailOf } from './operation.js';
import { latestText, lifeTerms, rateText, ticketOf, UnexpectedReplyError } from './wire-text.js';

// Each script takes one semaphore.
const setLimitScript = script('set-limit');

export const setLimit: Operation<port.SetLimitCall, port.SetLimitReply> = {
  script: setLimitScript,
  terms: ({ limit, newLimit }) => [String(limit), String(newLimit ?? 'none'), ''],
  argument: ({ notAfter }) => latestText(notAfter),
  read: (text, serverTime) => changeOf('set-limit', text, serverTime),
};

export const addPermits: Operation<port.AddPermitsCall, port.AddPermitsReply> = {
  script: setLimitScript,
  terms: ({ limit, delta, id }) => [String(limit), delta < 0 ? String(delta) : `+${delta}`, id],
  argument: ({ notAfter }) => latestText(notAfter),
  read: (text, serverTime) => {
    const { common, body } = tailOf('set-limit', text, serverTime);
    if (body === 'l') return { ...common, limit: undefined, late: true };
    const [, refused = '', limit] = /^(x?)(\d{1,16})$/.exec(body) ?? [];
    if (limit === undefined) throw new UnexpectedReplyError('set-limit', text);
    return { ...common, limit: Number(limit), ...(refused !== '' && { refused: true }) };
  },
};

export const setRate: Operation<port.SetRateCall, port.SetRateReply> = {
  script: script('set-rate'),
  terms: ({ limit, newRate, budget }) => [
    String(limit),
    budget === undefined ? 'rate' : `budget:${budget}`,
    newRate === undefined ? 'none' : rateText(newRate),
  ],
  argument: ({ notAfter }) => latestText(notAfter),
  read: (text, serverTime) => {
    const { common, body } = tailOf('set-rate', text, serverTime);
    if (body.startsWith('x')) return { ...common, full: body.slice(1).split(',') };
    return { ...common, late: body === 'l' };
  },
};

export const setGroupLimit: Operation<port.SetGroupLimitCall, port.SetRateReply> = {
  script: setRate.script,
  terms: ({ limit, newGroupLimit }) => [String(limit), 'cap', String(newGroupLimit ?? 'none')],
  argument: ({ notAfter }) => latestText(notAfter),
  read: (text, serverTime) => changeOf('set-rate', text, serverTime),
};

export const adopt: Operation<port.AdoptCall, port.AdoptReply> = {
  script: script('adopt'),
  terms: (call) => [...lifeTerms(call), call.id],
  argument: ({ newId }) => newId,
  read: (text, serverTime) => {
    const { common, body } = tailOf('adopt', text, serverTime);
    if (body === '') return { ...common, ticket: undefined };
    if (body === 'l') return { ...common, ticket: undefined, late: true };
    const [ticket = '', before = ''] = body.split(':');
    return { ...common, ticket: { ...ticketOf('adopt', ticket), before } };
  },
};

export const revoke: Operation<port.RevokeCall, port.RevokeReply> = {
  script: script('revoke'),
  terms: ({ limit }) => [String(limit)],
  argument: ({ id }) => id,
  read: (text, serverTime) => {
    const { common, body } = lettersOf('revoke', text, serverTime, 1);
    return { ...common, revoked: body === '1' };
  },
};

function changeOf(name: string, text: string, serverTime: number): port.SetLimitReply {
  const { common, body } = tailOf(name, text, serverTime);
  return { ...common, late: body === 'l' };
}
