/*
 * npm run verify [-- PART... [mocha's options]]: the tests that need real time, many processes or
 * several servers. One part after the other, each alone: the machine should do nothing else
 * meanwhile. Nothing is repeated.
 */
import { type ChildProcess, spawn } from 'node:child_process';

import { missingParts, startMocha, untilExitCode } from '../test/support/mocha-run.js';
import { type Part, parts } from './parts.js';
import { type Totals, totalsIn } from './support/totals.js';

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
print(results);
const left = sum('skipped') === 0 ? '' : `, ${sum('skipped')} skipped`;
console.log(`${sum('passed')} passed, ${sum('failed')} failed${left}`);
process.exitCode = sum('failed') === 0 ? 0 : 1;

async function run(part: Part): Promise<Result> {
  const began = performance.now();
  const { code, text } = await ended(start(part));
  const seconds = Math.round((performance.now() - began) / 1000);
  const totals = part.files === undefined ? undefined : totalsIn(text);
  const { passed, failed, skipped } = totals ?? {
    passed: code === 0 ? 1 : 0,
    failed: 0,
    skipped: 0,
  };
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

async function ended(child: ChildProcess): Promise<{ code: number; text: string }> {
  let text = '';
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    text = (text + chunk).slice(-10_000);
    process.stdout.write(chunk);
  });
  return { code: await untilExitCode(child), text };
}

function sum(field: 'passed' | 'failed' | 'skipped'): number {
  return results.reduce((total, result) => total + result[field], 0);
}

function print(rows: readonly Result[]): void {
  console.log(
    `\n${'part'.padEnd(14)}${['passed', 'failed', 'skipped', 'seconds'].map((title) => title.padStart(9)).join('')}`,
  );
  for (const { name, ...numbers } of rows) {
    const columns = [numbers.passed, numbers.failed, numbers.skipped, numbers.seconds];
    console.log(
      `${name.padEnd(14)}${columns.map((number) => String(number).padStart(9)).join('')}`,
    );
  }
}
