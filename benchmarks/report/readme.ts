import { readFileSync, writeFileSync } from 'node:fs';

import { format, resolveConfig } from 'prettier';
import { fileURLToPath } from 'node:url';

import type { Question } from '../questions/question.js';
import { environmentText } from './environment.js';
import { type ResultFile, Results } from './results.js';
import { loadResults } from './results-folder.js';
import { markdownTable } from './table.js';
import { verdictLine } from './verdict.js';
import { verdictsOf } from './file-verdicts.js';

const path = fileURLToPath(new URL('../README.md', import.meta.url));
const [begin, end] = ['<!-- results -->', '<!-- /results -->'];

/**
 * Writes what is in `results/` between the markers of the README: its tables cannot say anything
 * else.
 */
export async function writeReadme(questions: readonly Question[]): Promise<void> {
  const text = readFileSync(path, 'utf8');
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from === -1 || to < from) throw new Error(`README.md lost its ${begin} … ${end} markers`);
  const sections = questions.flatMap((question) => {
    const file = loadResults(question);
    return file === undefined ? [] : [resultsSection(question, file)];
  });
  const body = sections.length === 0 ? 'No full run yet.' : sections.join('\n\n');
  const written = `${text.slice(0, from)}${begin}\n\n${body}\n\n${text.slice(to)}`;
  const style = await resolveConfig(path);
  writeFileSync(path, await format(written, { ...style, parser: 'markdown' }));
}

export function resultsSection(question: Question, file: ResultFile): string {
  const results = new Results(file.rows);
  const verdicts = verdictsOf(question, file).map((verdict) => `- ${verdictLine(verdict)}`);
  const charts = question
    .charts(results)
    .map((chart) => `![${chart.title}](results/${chart.file}.svg)`);
  return [
    `### ${question.name}`,
    question.asks,
    ...question.tables(results).map(markdownTable),
    verdicts.join('\n'),
    ...charts,
    question.notes.map((note) => `- ${note}`).join('\n'),
    `Measured with ${environmentText(file.environment)}; medians of ${question.rounds} rounds (lowest–highest).`,
  ].join('\n\n');
}
