import { createHash } from 'node:crypto';
import {
  CLAIM_TIME_MS,
  KEYS_LIFE_MS,
  MAX_FREE_SLOTS,
  RATE_LIFE_MS,
  WAITER_LEASE_MS,
} from '../protocol.js';
import { luaSources } from './written-by-npm-run-lua.js';

export interface Script {
  readonly name: string;
  readonly sha1: string;
  readonly text: string;
}

const INCLUDE = /^-- include:(.*)$/;

/**
 * By name, the files of `lua/` here and in `backends/quorum`: an operation may include fragments of
 * either.
 */
const sources = new Map<string, readonly string[]>(Object.entries(luaSources));

/** Placeholders in the files for numbers that are defined elsewhere. */
const NUMBERS: Readonly<Record<string, number>> = {
  CLAIM_TIME_US: CLAIM_TIME_MS * 1000,
  WAITER_LEASE_US: WAITER_LEASE_MS * 1000,
  RATE_LIFE_US: RATE_LIFE_MS * 1000,
  KEYS_LIFE_MS,
  MAX_FREE_SLOTS,
};
const NUMBER = new RegExp(String.raw`\b(?:${Object.keys(NUMBERS).join('|')})\b`, 'g');

/** The lines of a file, with those of the files that it includes. */
export function linesOf(name: string): string[] {
  return (sources.get(name) ?? []).flatMap((line) => {
    const included = INCLUDE.exec(line)?.[1];
    if (included === undefined) return line.replace(NUMBER, (number) => String(NUMBERS[number]));
    return included.split(' ').filter(Boolean).flatMap(linesOf);
  });
}

export function script(name: string, before: readonly string[] = []): Script {
  const text = [...before, ...linesOf(name)].join('\n');
  return { name, text, sha1: createHash('sha1').update(text).digest('hex') };
}
