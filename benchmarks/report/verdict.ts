import { SLOW_MS } from '../measure/slow-calls.js';
import type { PeerId } from '../peers/catalog.js';
import type { Question } from '../questions/question.js';
import { numberText } from './number-text.js';
import { type Answer, Results, type SlowCalls } from './results.js';

/** Whether redsem reaches a bar. A bar is a value that the product must keep to. */
export interface Verdict {
  readonly bar: string;
  readonly reached: string;
  /** Undefined if it was not measured. */
  readonly met: boolean | undefined;
}

interface Part {
  readonly label: string;
  readonly value: number | undefined;
  /** The highest value that is allowed, or the lowest. */
  readonly bound: number;
}

/** The bars of a question, and of the slow calls of all its servers. */
export function verdictsOf(question: Question, { rows, slowCalls }: Answer): Verdict[] {
  const own = question.verdicts?.(new Results(rows)) ?? [];
  return slowCalls === undefined ? own : [...own, slowCallVerdict(slowCalls)];
}

export function slowCallVerdict({ count, longestMs }: SlowCalls): Verdict {
  const label = count === 0 ? 'calls' : `longest ${numberText(longestMs)} ms, calls`;
  const bar = `script calls of redsem that took longer than ${SLOW_MS} ms (SLOWLOG)`;
  return atMost(bar, [{ label, value: count, bound: 0 }]);
}

/** The bars hold for redsem through either client. */
export function eitherClient(bound: number, of: (redsem: PeerId) => number | undefined): Part[] {
  return [
    { label: 'node-redis', value: of('redsem-node-redis'), bound },
    { label: 'ioredis', value: of('redsem-ioredis'), bound },
  ];
}

export function atMost(bar: string, parts: readonly Part[]): Verdict {
  return verdict(bar, parts, 'at most', (value, bound) => value <= bound);
}

export function atLeast(bar: string, parts: readonly Part[]): Verdict {
  return verdict(bar, parts, 'at least', (value, bound) => value >= bound);
}

function verdict(
  bar: string,
  parts: readonly Part[],
  relation: string,
  holds: (value: number, bound: number) => boolean,
): Verdict {
  const reached: string[] = [];
  let met: boolean | undefined = true;
  for (const { label, value, bound } of parts) {
    if (value === undefined) return { bar, reached: 'not measured', met: undefined };
    met &&= holds(value, bound);
    reached.push(`${label} ${numberText(value)} (${relation} ${numberText(bound)})`);
  }
  return { bar, reached: reached.join(', '), met };
}

export function verdictLine({ bar, reached, met }: Verdict): string {
  const word = met === undefined ? '----' : met ? 'pass' : 'MISS';
  return `${word}  ${bar}: ${reached}`;
}

/** Undefined if either number is. */
export function ratio(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a / b;
}
