import type { SemaphoreKey } from '../backend.js';
import { LONGEST_NAME } from '../protocol.js';

/**
 * The keys of one semaphore that every script declares, in this order; `key_of` of `keys.lua`
 * derives the others. They share a hash tag, so that a cluster keeps them in one slot.
 * Braces in the name are escaped (and the escape sign itself), so that the tag is the whole name
 * and no two names ever meet; a prefix has no braces, see `options.ts`.
 */
export function keysOf(key: SemaphoreKey): readonly string[] {
  let keys = known.get(key);
  if (keys === undefined) known.set(key, (keys = keysFor(key, ['tickets', 'info'])));
  return keys;
}

const known = new WeakMap<SemaphoreKey, readonly string[]>();

/**
 * Its keys on one master of a quorum: other keys than on a single server, so that the two never
 * mix.
 */
export function quorumKeysOf(key: SemaphoreKey): readonly string[] {
  return keysFor(key, ['qslots', 'qmeta']);
}

export function keysFor({ prefix, name }: SemaphoreKey, kinds: string[]): readonly string[] {
  return kinds.map((kind) => `${prefix}:{${tagOf(name)}}:${kind}`);
}

function tagOf(name: string): string {
  return name.replace(/[{}%]/g, encodeURIComponent);
}

/** The name whose keys have this text between their braces; undefined where none has. */
export function nameOfTag(tag: string): string | undefined {
  if (tag.length > 3 * LONGEST_NAME) return undefined;
  // A copy: part of a string keeps all of it in memory.
  const bytes = Buffer.from(tag.replace(/%7B|%7D|%25/g, decodeURIComponent));
  const name = bytes.toString();
  const fits = bytes.length > 0 && bytes.length <= LONGEST_NAME;
  return fits && tagOf(name) === tag ? name : undefined;
}

/** The start of the channels on which clients are notified of grants. */
export function inboxChannels(prefix: string): string {
  return `${prefix}:inbox:`;
}
