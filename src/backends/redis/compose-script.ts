import { createHash } from 'node:crypto';
import * as protocol from '../protocol.js';
import { luaSources } from './written-by-npm-run-lua.js';

export interface Script {
  readonly name: string;
  readonly sha1: string;
  readonly text: string;
}

const INCLUDE = /^-- include: (.*)$/;
/** A function that has the text of a file, which is run where it is first needed. */
const ON_DEMAND = /^-- on demand: (\w+) = (\S+)$/;

/**
 * By name, the files of `lua/` here and in `backends/quorum`: an operation may include fragments of
 * either.
 */
const sources = new Map<string, readonly string[]>(Object.entries(luaSources));

/**
 * Placeholders in the files. A local constant of Lua would cost each function that uses it, in each
 * run.
 */
const CONSTANTS: Readonly<Record<string, number | string>> = {
  CLAIM_TIME_US: protocol.CLAIM_TIME_MS * 1000,
  WAITER_LEASE_US: protocol.WAITER_LEASE_MS * 1000,
  AFTER_TURN_US: protocol.AFTER_TURN_MS * 1000,
  RATE_LIFE_US: protocol.RATE_LIFE_MS * 1000,
  KEYS_LIFE_MS: protocol.KEYS_LIFE_MS,
  MAX_FREE_SLOTS: protocol.MAX_FREE_SLOTS,
  MOST_BUDGETS: protocol.MOST_BUDGETS,
  LAYOUT: 3,
  NEVER: protocol.NEVER_US,
  /** The tag of a flow whose group is at the cap. */
  AT_CAP: '1000000000000000000',
  /** Tickets that live longer may outlive the keys, unless these are renewed at once. */
  LONG_TTL_US: protocol.KEYS_LIFE_MS * 250,
  // How texts of arguments begin: '[', '?', '@' and a space. Bytes cost less than characters.
  LIST: 91,
  TRY: 63,
  ORDERED: 64,
  SPACE: 32,
  /** The member that keeps `tickets`, and in `clients` says that some leases were over. */
  SIGN: "'.'",
  /** All or none: no channel has this name. */
  TOGETHER: "'*'",
  // What a verdict begins with.
  QUEUED: "'q'",
  BUSY: "'b'",
  FULL: "'f'",
  OVER: "'o'",
  LATE: "'l'",
  REVOKED: "'r'",
  REFUSED: "'x'",
  // Whose limit a reply names.
  STORED: "'s'",
  OTHER: "'o'",
};
const CONSTANT = new RegExp(String.raw`\b(?:${Object.keys(CONSTANTS).join('|')})\b`, 'g');

/**
 * The lines of a file, behind the lines of the files that it includes, each file once.
 * @param included the files that are before it
 */
export function linesOf(name: string, included: Set<string> = new Set()): string[] {
  included.add(name);
  const lines = sources.get(name) ?? [];
  return lines.flatMap((line) => {
    const files = INCLUDE.exec(line)?.[1]?.split(' ');
    if (files) return files.flatMap((file) => (included.has(file) ? [] : linesOf(file, included)));
    const [, made, file] = ON_DEMAND.exec(line) ?? [];
    if (file) return [`local function ${made}()`, ...linesOf(file, new Set(included)), 'end'];
    return line.replace(CONSTANT, (placeholder) => String(CONSTANTS[placeholder]));
  });
}

export function script(name: string, before: readonly string[] = []): Script {
  const text = [...before, ...linesOf(name)].join('\n');
  return { name, text, sha1: createHash('sha1').update(text).digest('hex') };
}
