import { setTimeout as sleep } from 'node:timers/promises';

import type { ServerOptions } from '../test/support/redis-server.js';
import { type SlowCalls, sumOfSlowCalls } from './measure/slow-calls.js';
import { Stage } from './measure/stage.js';
import type { BenchCase, Pace, Question } from './questions/question.js';
import { describeEnvironment, type Environment } from './report/environment.js';
import { type Answer, type Measured, rowsOf } from './report/results.js';

/** Milliseconds after which a case fails. */
const caseLimit = 90_000;

export interface QuestionOutcome {
  readonly answer: Answer;
  readonly failures: number;
}

/**
 * Runs all cases of a question, round by round, and every second round backwards. So a machine that
 * gets slower or faster meanwhile affects all cases alike.
 */
export async function runQuestion(question: Question, pace: Pace): Promise<QuestionOutcome> {
  const environment = await inspectEnvironment();
  const cases = question.cases(pace);
  const rounds = pace === 'full' ? question.rounds : 1;
  const measured: Measured[] = [];
  const slow: SlowCalls[] = [];
  let failures = 0;
  const attempt = async (each: BenchCase, round: number): Promise<void> => {
    try {
      const outcome = await runCase(each, question.server);
      measured.push(...outcome.measured);
      if (outcome.slow !== undefined) slow.push(outcome.slow);
    } catch (error) {
      failures += 1;
      console.error(`${question.name}, ${each.label}, round ${round} failed:`, error);
    }
  };
  for (let round = 1; round <= rounds; round += 1) {
    console.log(`${question.name}: round ${round} of ${rounds}, ${cases.length} cases`);
    const ordered = round % 2 === 1 ? cases : cases.toReversed();
    // A quick run compares nothing, so its cases may run at the same time.
    await inLanes(pace === 'full' ? 1 : 3, ordered, (each) => attempt(each, round));
  }
  const slowCalls = slow.length === 0 ? undefined : sumOfSlowCalls(slow);
  return { answer: { environment, slowCalls, rows: rowsOf(measured) }, failures };
}

async function inLanes<T>(
  count: number,
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = items.values();
  const lane = async (): Promise<void> => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: count }, lane));
}

async function inspectEnvironment(): Promise<Environment> {
  const stage = await Stage.open();
  try {
    return await describeEnvironment(stage.server);
  } finally {
    await stage.close();
  }
}

interface CaseOutcome {
  readonly measured: readonly Measured[];
  readonly slow: SlowCalls | undefined;
}

async function runCase(each: BenchCase, server?: ServerOptions): Promise<CaseOutcome> {
  const stage = await Stage.open(server);
  const over = new AbortController();
  const tooLong = async (): Promise<never> => {
    await sleep(caseLimit, undefined, { signal: over.signal });
    throw new Error(`took longer than ${caseLimit} ms`);
  };
  try {
    const measured = await Promise.race([each.run(stage), tooLong()]);
    return { measured, slow: server === undefined ? await stage.slowCalls() : undefined };
  } finally {
    over.abort();
    await stage.close();
  }
}
