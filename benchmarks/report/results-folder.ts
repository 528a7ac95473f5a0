import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';

import type { Question } from '../questions/question.js';
import { type ResultFile, Results } from './results.js';

const folder = new URL('../results/', import.meta.url);

export function saveResults(question: Question, file: ResultFile): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(resultsPath(question), `${JSON.stringify(file, null, 2)}\n`);
  for (const chart of question.charts(new Results(file.rows))) {
    writeFileSync(new URL(`${chart.file}.svg`, folder), chart.svg);
  }
}

/** What the last full run of a question left; undefined when there was none. */
export function loadResults(question: Question): ResultFile | undefined {
  const path = resultsPath(question);
  if (!existsSync(path)) return undefined;
  const file: unknown = JSON.parse(readFileSync(path, 'utf8'));
  if (!isResultFile(file)) throw new Error(`results/${question.name}.json is not a results file`);
  return file;
}

function resultsPath(question: Question): URL {
  return new URL(`${question.name}.json`, folder);
}

function isResultFile(file: unknown): file is ResultFile {
  return typeof file === 'object' && file !== null && 'environment' in file && 'rows' in file;
}
