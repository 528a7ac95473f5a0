import type { SemaphoreKey } from '../backend.js';
import { LONGEST_NAME } from '../protocol.js';

/** The keys that every script declares, in this order; others are derived, see `semaphore.lua`. */
const PARTS = ['tickets', 'info'] as const;
const QUORUM_PARTS = ['qslots', 'qmeta'] as const;

/**
 * The keys of one semaphore. They share a hash tag, so that a cluster keeps them in one slot.
 * Braces in the name are escaped (and the escape sign itself), so that the tag is the whole name
 * and no two names ever meet; a prefix has no braces, see `options.ts`.
 */
export function keysOf(key: SemaphoreKey): readonly string[] {
  let keys = known.get(key);
  if (keys === undefined) known.set(key, (keys = keysFor(key, PARTS)));
  return keys;
}

const known = new WeakMap<SemaphoreKey, readonly string[]>();

/**
 * Its keys on one master of a quorum: other keys than on a single server, so that the two never
 * mix.
 */
export function quorumKeysOf(key: SemaphoreKey): readonly string[] {
  return keysFor(key, QUORUM_PARTS);
}

/** Where the numbers of stripes of keyed mutexes are noted. Not `info`: it is no semaphore. */
export function stripesKeyOf(key: SemaphoreKey): readonly string[] {
  return keysFor(key, ['stripes']);
}

/** What the keys of all semaphores with one prefix begin with. */
export function keysStart(prefix: string): string {
  return `${prefix}:`;
}

function keysFor({ prefix, name }: SemaphoreKey, parts: readonly string[]): readonly string[] {
  return parts.map((part) => `${keysStart(prefix)}{${tagOf(name)}}:${part}`);
}

function tagOf(name: string): string {
  return name.replace(/[{}%]/g, (sign) => ESCAPES[sign] ?? sign);
}

/** The name whose keys have this tag; undefined where none has. */
export function nameOfTag(tag: string): string | undefined {
  const name = nameOf(tag);
  return name !== undefined && tagOf(name) === tag ? name : undefined;
}

/** The name between the braces of its keys; undefined where none can. */
export function nameOf(tag: string): string | undefined {
  if (tag.length > 3 * LONGEST_NAME) return undefined;
  // A copy: part of a string keeps all of it in memory.
  const bytes = Buffer.from(tag.replace(/%7B|%7D|%25/g, (sign) => decodeURIComponent(sign)));
  return bytes.length > 0 && bytes.length <= LONGEST_NAME ? bytes.toString() : undefined;
}

const ESCAPES: Record<string, string> = { '{': '%7B', '}': '%7D', '%': '%25' };

/** The start of the channels on which clients are notified of grants. */
export function inboxChannels(prefix: string): string {
  return `${prefix}:inbox:`;
}
