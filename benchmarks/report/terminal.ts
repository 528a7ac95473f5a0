import type { Pace, Question } from '../questions/question.js';
import { environmentText } from './environment.js';
import { type Answer, Results } from './results.js';
import { resultsSection } from './readme.js';
import { tableText } from './table.js';
import { verdictLine, verdictsOf } from './verdict.js';

export function printAnswer(question: Question, answer: Answer, pace: Pace): void {
  const lines = [
    '',
    `${question.name}: ${question.asks}`,
    environmentText(answer.environment),
    ...question.tables(new Results(answer.rows)).map((table) => `\n${tableText(table)}`),
    '',
    ...verdictsOf(question, answer).map(verdictLine),
  ];
  if (pace === 'quick') {
    // A quick run also makes charts and README text, and drops them: it shows that both can be
    // made.
    const { length } = resultsSection(question, answer);
    lines.push(`quick run: the numbers mean nothing (${length} characters of report not written)`);
  }
  console.log(`${lines.join('\n')}\n`);
}
