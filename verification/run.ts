/*
 * npm run verify [-- PART... [mocha's options]]: the tests that need real time, many processes or
 * several servers. One part after the other, each alone: the machine should do nothing else
 * meanwhile. Nothing is repeated.
 */
import { type ChildProcess, spawn } from 'node:child_process';

import { missingParts, startMocha } from '../test/support/mocha-run.js';
import { type Part, parts } from './parts.js';
import { markdownTable } from './support/markdown-table.js';
import { type Totals, untilEnded } from './support/mocha-output.js';

interface Result extends Totals {
  readonly name: string;
  readonly seconds: number;
}

const args = process.argv.slice(2);
const options = args.filter(
  (arg, i) => arg.startsWith('-') || args[i - 1]?.startsWith('--') === true,
);
const wanted = args.filter((arg) => !options.includes(arg));

const unknown = wanted.filter((name) => parts.every((part) => part.name !== name));
if (unknown.length > 0) {
  const known = parts.map(({ name, what }) => `  ${name.padEnd(15)} ${what}`).join('\n');
  console.error(`no such part: ${unknown.join(', ')}\n${known}`);
  process.exit(2);
}

const missing = missingParts();
const results: Result[] = [];
for (const part of parts) {
  if (wanted.length > 0 && !wanted.includes(part.name)) continue;
  console.log(`\n=== ${part.name}: ${part.what}`);
  results.push(await run(part));
}
const counts = ['passed', 'failed', 'skipped', 'seconds'] as const;
const rows = results.map((result) => [result.name, ...counts.map((of) => String(result[of]))]);
console.log(`\n${markdownTable(['part', ...counts], rows)}`);
const left = sum('skipped') === 0 ? '' : `, ${sum('skipped')} skipped`;
console.log(`${sum('passed')} passed, ${sum('failed')} failed${left}`);
process.exitCode = sum('failed') === 0 ? 0 : 1;

async function run(part: Part): Promise<Result> {
  const { code, totals, seconds } = await untilEnded(start(part), true);
  const program = { passed: code === 0 ? 1 : 0, failed: 0, skipped: 0 };
  const { passed, failed, skipped } = (part.files === undefined ? undefined : totals) ?? program;
  // A run that ended badly though no test failed is a failure.
  const wrong = code !== 0 && failed === 0 ? 1 : failed;
  return { name: part.name, passed, failed: wrong, skipped, seconds };
}

function start({ files, script, environment }: Part): ChildProcess {
  if (files !== undefined)
    return startMocha([...options, ...files], { ...missing, ...environment }, 'pipe');
  const [name = '', ...rest] = script ?? [];
  return spawn('npm', ['run', '--silent', name, '--', ...rest], {
    stdio: ['inherit', 'pipe', 'inherit'],
  });
}

function sum(field: 'passed' | 'failed' | 'skipped'): number {
  return results.reduce((total, result) => total + result[field], 0);
}
