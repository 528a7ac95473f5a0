import type { ExtendCall, ExtendReply } from '../backend.js';
import { microseconds } from '../gcra.js';
import { script } from './compose-script.js';
import type { Operation } from './operation.js';
import { listText } from './wire-text.js';

/** See `extend.lua`. */
export const extend: Operation<ExtendCall, ExtendReply> = {
  script: script('extend'),
  shared: ({ limit, ttl }) => [String(limit), String(microseconds(ttl))],
  shares: (one, other) => one.limit === other.limit && one.ttl === other.ttl,
  argument: ({ ids, fencingTokens = [] }) => `${listText(ids)}|${listText(fencingTokens)}`,
  read: ({ body, serverTime, grants, storedLimit, otherLimit }, { ids }) => {
    if (body.length !== ids.length) return undefined;
    const extended = ids.map((_id, i) => body[i] === '1');
    const revoked = body.includes('r') ? ids.filter((_id, i) => body[i] === 'r') : undefined;
    return { serverTime, grants, storedLimit, otherLimit, extended, revoked };
  },
};
