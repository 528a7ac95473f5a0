import type { ReleaseCall, ReleaseReply } from '../backend.js';
import { script } from './compose-script.js';
import type { Operation } from './operation.js';
import { costsText, listText } from './wire-text.js';

/** See `release.lua`. */
export const release: Operation<ReleaseCall, ReleaseReply> = {
  script: script('release'),
  shared: ({ limit }) => [String(limit)],
  shares: (one, other) => one.limit === other.limit,
  argument: ({ ids, spent }) => {
    const once = eachOnce(ids);
    const [id = ''] = once;
    // An adopted ticket has two fields.
    const isOne = once.length === 1 && !id.includes('~');
    if (spent?.some((costs) => costs !== undefined) === true) {
      const texts = once.map((one) => costsText(spent[ids.indexOf(one)] ?? {}) || '-');
      return isOne ? `@${id}|${texts.join('')}` : `${listText(once)}|${listText(texts)}`;
    }
    // The script reads a single id faster as it is.
    return isOne ? id : listText(once);
  },
  read: ({ body, serverTime, grants, storedLimit, otherLimit }, { ids }) => {
    const once = eachOnce(ids);
    if (body.length !== once.length) return undefined;
    let at = 0;
    // An id that is named twice is given back once.
    const released = ids.map((id) => id === once[at] && body[at++] === '1');
    return { serverTime, grants, storedLimit, otherLimit, released };
  },
};

function eachOnce(ids: readonly string[]): readonly string[] {
  return ids.length === 1 ? ids : [...new Set(ids)];
}
