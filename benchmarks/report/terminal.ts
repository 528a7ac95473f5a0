import type { Pace, Question } from '../questions/question.js';
import { environmentText } from './environment.js';
import { type ResultFile, Results } from './results.js';
import { resultsSection } from './readme.js';
import { markdownTable } from './table.js';
import { verdictLine } from './verdict.js';
import { verdictsOf } from './file-verdicts.js';

export function printQuestion(question: Question, file: ResultFile, pace: Pace): void {
  const results = new Results(file.rows);
  const lines = [
    '',
    `${question.name}: ${question.asks}`,
    environmentText(file.environment),
    ...question.tables(results).map((table) => `\n${markdownTable(table)}`),
    '',
    ...verdictsOf(question, file).map(verdictLine),
  ];
  if (pace === 'quick') {
    // Charts and README text are made and thrown away: a quick run shows that they can be.
    const { length } = resultsSection(question, file);
    lines.push(`quick run: the numbers mean nothing (${length} characters of report not written)`);
  }
  console.log(`${lines.join('\n')}\n`);
}
