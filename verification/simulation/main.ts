// Before anything of src.
import { assertDeterministic } from './deterministic.js';

import { writeFileSync } from 'node:fs';

import { lineOf } from '../history/events.js';
import { type Command, parseCommand, replayOf, USAGE } from './command-line.js';
import { run, type RunResult } from './run.js';
import type { Settings } from './settings.js';
import { shrink } from './shrink.js';
import { timelineOf } from './timeline.js';
import { startRealScripts } from './world/redis-store.js';

interface Sum {
  seeds: number;
  failed: number;
  faults: number;
  events: number;
  lasted: number;
}

async function main(args: readonly string[]): Promise<void> {
  if (args.includes('--help')) return console.log(USAGE);
  const command = parseCommand(args, () => Math.floor(Math.random() * 1e9));
  const started = performance.now();
  const sum: Sum = { seeds: 0, failed: 0, faults: 0, events: 0, lasted: 0 };
  const isLast = (): boolean => {
    const { seconds, seeds } = command;
    if (seconds !== undefined) return performance.now() - started > seconds * 1000;
    return sum.seeds >= seeds;
  };
  const real = command.realScripts ? await startRealScripts() : undefined;
  const runOne = (settings: Settings): Promise<RunResult> => run(settings, real?.open);
  let last: RunResult | undefined;
  let { seed } = command.settings;
  while (!isLast()) {
    last = await runSeed({ ...command.settings, seed }, command, sum, runOne);
    seed = command.others[sum.seeds - 1] ?? seed + 1;
  }
  await real?.stop();
  if (command.history !== undefined && last !== undefined) {
    writeFileSync(command.history, last.events.map(lineOf).join(''));
  }
  const seconds = (performance.now() - started) / 1000;
  const hours = (sum.lasted / 3_600_000).toFixed(2);
  console.log(
    `${sum.seeds} seeds from ${command.settings.seed}, ${hours} virtual hours, ${sum.faults} faults, ${sum.events} events in ${seconds.toFixed(1)} s: ${sum.failed} failed`,
  );
  if (sum.failed > 0) process.exitCode = 1;
}

type RunOne = (settings: Settings) => Promise<RunResult>;

async function runSeed(
  settings: Settings,
  command: Command,
  sum: Sum,
  runOne: RunOne,
): Promise<RunResult> {
  const began = performance.now();
  const result = await runOne(settings);
  sum.seeds += 1;
  sum.faults += result.faults.filter(({ at }) => at <= result.lasted).length;
  sum.events += result.events.length;
  sum.lasted += result.lasted;
  const took = Math.round(performance.now() - began);
  const failed = result.violations.length > 0;
  if (!command.quiet || failed) {
    const verdict = failed ? `FAILED ${result.violations[0]?.rule}` : 'ok';
    console.log(
      `seed ${settings.seed}  ${result.digest}  ${result.faults.length} faults, ${result.events.length} events, ${Math.round(result.lasted / 1000)} s in ${took} ms  ${verdict}`,
    );
  }
  if (command.twice) {
    const again = await runOne(settings);
    if (again.digest !== result.digest) {
      sum.failed += 1;
      console.log(`  NOT THE SAME: ${again.digest} the second time; ${replayOf(settings)} --twice`);
    }
  }
  if (failed) {
    sum.failed += 1;
    await report(result, command, runOne);
  }
  return result;
}

async function report(
  result: RunResult,
  { shrink: shall, realScripts }: Command,
  runOne: RunOne,
): Promise<void> {
  const also = realScripts ? ' --real-scripts' : '';
  console.log(`  ${replayOf(result.settings)}${also}`);
  const smallest = shall ? await shrink(result, runOne) : result;
  if (smallest !== result) {
    const faults = smallest.faults.map(({ number, kind }) => `${number} ${kind}`).join(', ');
    console.log(`  shrunk to the faults: ${faults || 'none'}`);
    console.log(`  ${replayOf(smallest.settings)}${also}`);
  }
  for (const line of timelineOf(smallest)) console.log(`    ${line}`);
}

assertDeterministic();
await main(process.argv.slice(2));
