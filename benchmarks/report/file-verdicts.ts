import { SLOW_MS, type SlowCalls } from '../measure/slow-calls.js';
import type { Question } from '../questions/question.js';
import { type ResultFile, Results } from './results.js';
import { atMost, type Verdict } from './verdict.js';

/** The bars of a question, and what every server was watched for while it was asked. */
export function verdictsOf(question: Question, file: ResultFile): Verdict[] {
  const { slowCalls } = file;
  const own = question.verdicts(new Results(file.rows));
  return slowCalls === undefined ? own : [...own, ...slowCallVerdicts(slowCalls)];
}

export function slowCallVerdicts({ count, longestMs }: SlowCalls): Verdict[] {
  return [
    atMost(`script calls of redsem that took longer than ${SLOW_MS} ms (SLOWLOG)`, [
      { label: 'calls', value: count, bound: 0 },
    ]),
    atMost('the longest script call of redsem', [
      { label: 'ms', value: longestMs, bound: SLOW_MS },
    ]),
  ];
}
