import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';

import type { Question } from '../questions/question.js';
import { svgOf } from './chart.js';
import { type Answer, Results } from './results.js';

const folder = new URL('../results/', import.meta.url);
const path = new URL('summary.json', folder);

/** By name of a question: the results of its last full run. */
export type Summary = Readonly<Record<string, Answer>>;

export function loadSummary(): Summary {
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Summary) : {};
}

export function saveAnswer(question: Question, answer: Answer): void {
  mkdirSync(folder, { recursive: true });
  const answers = Object.entries({ ...loadSummary(), [question.name]: answer });
  writeFileSync(path, `{\n${answers.map(answerText).join(',\n')}\n}\n`);
  drawCharts(question, answer);
}

export function drawCharts(question: Question, { rows }: Answer): void {
  for (const chart of question.charts?.(new Results(rows)) ?? []) {
    writeFileSync(new URL(`${chart.file}.svg`, folder), svgOf(chart));
  }
}

/** Writes a row as a line, so that a diff of two runs is readable. */
function answerText([name, { rows, ...about }]: [string, Answer]): string {
  const lines = rows.map((row) => JSON.stringify(row));
  const head = JSON.stringify(about).slice(0, -1);
  return `${JSON.stringify(name)}: ${head}, "rows": [\n${lines.join(',\n')}\n]}`;
}
