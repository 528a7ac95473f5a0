import { setTimeout as sleep } from 'node:timers/promises';

import type { ServerOptions } from '../test/support/redis-server.js';
import { Stage } from './measure/stage.js';
import type { BenchCase, Pace, Question } from './questions/question.js';
import { describeEnvironment } from './report/environment.js';
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
  const environment = await onStage(undefined, ({ server }) => describeEnvironment(server));
  const cases = question.cases(pace);
  const rounds = pace === 'full' ? question.rounds : 1;
  const measured: Measured[] = [];
  let slow: number[] | undefined;
  let failures = 0;
  const runCase = async (each: BenchCase, stage: Stage): Promise<void> => {
    measured.push(...(await each.run(stage)));
    const calls = question.server === undefined ? await stage.slowCalls() : undefined;
    if (calls !== undefined) slow = [...(slow ?? []), ...calls];
  };
  const attempt = async (each: BenchCase, round: number): Promise<void> => {
    try {
      await onStage(question.server, (stage) => runCase(each, stage));
    } catch (error) {
      failures += 1;
      console.error(`${question.name}, ${each.label}, round ${round} failed:`, error);
    }
  };
  for (let round = 1; round <= rounds; round += 1) {
    console.log(`${question.name}: round ${round} of ${rounds}, ${cases.length} cases`);
    const queue = (round % 2 === 1 ? cases : cases.toReversed()).values();
    const lane = async (): Promise<void> => {
      for (const each of queue) await attempt(each, round);
    };
    // A quick run compares nothing, so its cases may run at the same time.
    await Promise.all(Array.from({ length: pace === 'full' ? 1 : 3 }, lane));
  }
  const slowCalls = slow && { count: slow.length, longestMs: Math.max(0, ...slow) };
  return { answer: { environment, slowCalls, rows: rowsOf(measured) }, failures };
}

async function onStage<T>(
  server: ServerOptions | undefined,
  work: (stage: Stage) => Promise<T>,
): Promise<T> {
  const stage = await Stage.open(server);
  const tooLong = sleep(caseLimit, undefined, { ref: false }).then(() => {
    throw new Error(`took longer than ${caseLimit} ms`);
  });
  tooLong.catch(() => undefined);
  try {
    return await Promise.race([work(stage), tooLong]);
  } finally {
    await stage.close();
  }
}
