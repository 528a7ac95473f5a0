import { parseArgs } from 'node:util';

import { buildWorkerPrograms } from './measure/worker-program.js';
import { questions } from './questions/all-questions.js';
import type { Pace, Question } from './questions/question.js';
import { runQuestion } from './question-run.js';
import { resultsSection, writeReadme } from './report/readme.js';
import { drawCharts, loadSummary, saveAnswer } from './report/summary-file.js';

/**
 * Returns the exit code: 1 if a case failed. A bar that is missed is reported, but is no failure.
 */
export async function runFromCommandLine(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    options: {
      quick: { type: 'boolean', default: false },
      redraw: { type: 'boolean', default: false },
    },
    allowPositionals: true,
  });
  const unknown = positionals.filter((name) => !questions.some((each) => each.name === name));
  if (unknown.length > 0) {
    const names = questions.map(({ name }) => name).join(', ');
    console.error(`no question named ${unknown.join(', ')}; there are ${names}`);
    return 2;
  }
  const wanted = questions.filter(
    ({ name }) => positionals.length === 0 || positionals.includes(name),
  );
  if (values.redraw) return redraw();
  return run(wanted, values.quick ? 'quick' : 'full');
}

/** Makes the charts and the README again from the committed results. */
async function redraw(): Promise<number> {
  const summary = loadSummary();
  for (const question of questions) {
    const answer = summary[question.name];
    if (answer !== undefined) drawCharts(question, answer);
  }
  await writeReadme(questions);
  return 0;
}

async function run(wanted: readonly Question[], pace: Pace): Promise<number> {
  const started = performance.now();
  await buildWorkerPrograms();
  let failures = 0;
  for (const question of wanted.filter(canBeAsked)) {
    const { answer, failures: failed } = await runQuestion(question, pace);
    failures += failed;
    console.log(`\n${resultsSection(question, answer)}\n`);
    if (pace === 'full' && failed === 0) saveAnswer(question, answer);
  }
  if (pace === 'full') await writeReadme(questions);
  else console.log('quick run: the numbers mean nothing');
  const seconds = Math.round((performance.now() - started) / 1000);
  const end = failures === 0 ? 'every case ran' : `${failures} cases failed`;
  console.log(`\n${end}, ${seconds} s`);
  return failures === 0 ? 0 : 1;
}

function canBeAsked({ name, lacks }: Question): boolean {
  const lack = lacks?.();
  if (lack !== undefined) console.log(`${name}: left out, ${lack}`);
  return lack === undefined;
}
