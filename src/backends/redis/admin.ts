import type * as port from '../backend.js';
import { script } from './compose-script.js';
import type { Operation } from './operation.js';
import { latestText, lifeOf, rateText, ticketOf } from './wire-text.js';

// Each script takes one semaphore.
const setLimitScript = script('set-limit');

export const setLimit: Operation<port.SetLimitCall, port.SetLimitReply> = {
  script: setLimitScript,
  shared: ({ limit, newLimit }) => [String(limit), String(newLimit ?? 'none'), ''],
  argument: ({ notAfter }) => latestText(notAfter),
  read: ({ body, ...common }) => ({ ...common, late: body === 'l' }),
};

export const addPermits: Operation<port.AddPermitsCall, port.AddPermitsReply> = {
  script: setLimitScript,
  shared: ({ limit, delta, id }) => [String(limit), delta < 0 ? String(delta) : `+${delta}`, id],
  argument: ({ notAfter }) => latestText(notAfter),
  read: ({ body, ...common }) => {
    if (body === 'l') return { ...common, limit: undefined, late: true };
    const [, refused = '', limit] = /^(x?)(\d{1,16})$/.exec(body) ?? [];
    if (limit === undefined) return undefined;
    return { ...common, limit: Number(limit), ...(refused !== '' && { refused: true }) };
  },
};

/** As `set-rate.lua` has no rate: it holds no request back. */
const NO_RATE = { permits: 0, per: 0.001, burst: 0 };

export const setRate: Operation<port.SetRateCall, port.SetRateReply> = {
  script: script('set-rate'),
  shared: ({ limit, newRate, budget }) => [
    String(limit),
    budget === undefined ? 'rate' : `budget:${budget}`,
    rateText(newRate ?? NO_RATE),
  ],
  argument: ({ notAfter }) => latestText(notAfter),
  read: ({ body, ...common }) => {
    if (body.startsWith('x')) return { ...common, full: body.slice(1).split(',') };
    return { ...common, late: body === 'l' };
  },
};

export const setGroupLimit: Operation<port.SetGroupLimitCall, port.SetRateReply> = {
  script: setRate.script,
  shared: ({ limit, newGroupLimit }) => [String(limit), 'cap', String(newGroupLimit ?? 0)],
  argument: ({ notAfter }) => latestText(notAfter),
  read: ({ body, ...common }) => ({ ...common, late: body === 'l' }),
};

export const adopt: Operation<port.AdoptCall, port.AdoptReply> = {
  script: script('adopt'),
  shared: lifeOf,
  argument: ({ newId }) => newId,
  read: ({ body, ...common }) => {
    if (body === '') return { ...common, ticket: undefined };
    if (body === 'l') return { ...common, ticket: undefined, late: true };
    const [text = '', before = ''] = body.split(':');
    const ticket = ticketOf(text);
    return ticket && { ...common, ticket: { ...ticket, before } };
  },
};

export const revoke: Operation<port.RevokeCall, port.RevokeReply> = {
  script: script('revoke'),
  shared: ({ limit, id }) => [String(limit), id, ''],
  argument: () => '',
  read: ({ body, ...common }) =>
    body.length === 1 ? { ...common, revoked: body === '1' } : undefined,
};
