import { readFileSync, writeFileSync } from 'node:fs';

import { format, resolveConfig } from 'prettier';
import { fileURLToPath } from 'node:url';

import type { Question } from '../questions/question.js';
import { type Answer, Results } from './results.js';
import { loadSummary } from './summary-file.js';
import { tableText } from './table.js';
import { verdictLine, verdictsOf } from './verdict.js';

const path = fileURLToPath(new URL('../README.md', import.meta.url));
const [begin, end] = ['<!-- results -->', '<!-- /results -->'];

/**
 * Writes the summary between the markers of the README, so that its tables have the committed
 * figures.
 */
export async function writeReadme(questions: readonly Question[]): Promise<void> {
  const text = readFileSync(path, 'utf8');
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from === -1 || to < from) throw new Error(`README.md lost its ${begin} … ${end} markers`);
  const summary = loadSummary();
  const sections = questions.flatMap((question) => {
    const answer = summary[question.name];
    return answer === undefined ? [] : [resultsSection(question, answer)];
  });
  const body = sections.length === 0 ? 'No full run yet.' : sections.join('\n\n');
  const written = `${text.slice(0, from)}${begin}\n\n${body}\n\n${text.slice(to)}`;
  const style = await resolveConfig(path);
  writeFileSync(path, await format(written, { ...style, parser: 'markdown' }));
}

export function resultsSection(question: Question, answer: Answer): string {
  const results = new Results(answer.rows);
  const charts = question.charts?.(results) ?? [];
  return [
    `### ${question.name}`,
    question.asks,
    ...question.tables(results).map(tableText),
    verdictsOf(question, answer)
      .map((verdict) => `- ${verdictLine(verdict)}`)
      .join('\n'),
    ...charts.map(({ title, file }) => `![${title}](results/${file}.svg)`),
    question.notes.map((note) => `- ${note}`).join('\n'),
    `Measured with ${answer.environment}; medians of ${question.rounds} rounds (lowest–highest).`,
  ].join('\n\n');
}
