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

type RunOne = (settings: Settings) => Promise<RunResult>;

async function main(args: readonly string[]): Promise<void> {
  if (args.includes('--help')) return console.log(USAGE);
  const command = parseCommand(args);
  const { settings, others, seeds, seconds = Infinity, history } = command;
  const most = seconds < Infinity ? Infinity : seeds;
  const real = command['real-scripts'] ? await startRealScripts() : undefined;
  const runOne: RunOne = (each) => run(each, real?.open);
  let [done, failed, faults, events, lasted] = [0, 0, 0, 0, 0];
  let last: RunResult | undefined;
  for (let { seed } = settings; done < most && spent() < seconds;) {
    last = await runOne({ ...settings, seed });
    seed = others[done] ?? seed + 1;
    done += 1;
    faults += last.faults.filter(({ at }) => at <= (last?.lasted ?? 0)).length;
    events += last.events.length;
    lasted += last.lasted;
    if (!(await isSound(last, command, runOne))) failed += 1;
    if (failed > 0 && command.first) break;
  }
  await real?.stop();
  if (history !== undefined) writeFileSync(history, last?.events.map(lineOf).join('') ?? '');
  const hours = (lasted / 3_600_000).toFixed(2);
  console.log(
    `${done} seeds from ${settings.seed}, ${hours} virtual hours, ${faults} faults, ${events} events in ${spent().toFixed(1)} s: ${failed} failed`,
  );
  // Calls that a bug has left open would keep the process alive.
  process.exit(failed > 0 ? 1 : 0);
}

/** Whether no promise was broken, and a second run, if one is wanted, was the same. */
async function isSound(result: RunResult, command: Command, runOne: RunOne): Promise<boolean> {
  const { settings, faults, events, lasted, violations } = result;
  const [violation] = violations;
  if (!command.quiet || violation !== undefined) {
    const verdict = violation === undefined ? 'ok' : `FAILED ${violation.rule}`;
    const length = `${faults.length} faults, ${events.length} events, ${Math.round(lasted / 1000)} s`;
    console.log(`seed ${settings.seed}  ${result.digest}  ${length}  ${verdict}`);
  }
  const again = command.twice ? (await runOne(settings)).digest : undefined;
  const differs = again !== undefined && again !== result.digest;
  if (differs) console.log(`  NOT THE SAME: ${again}; ${replayOf(settings)} --twice`);
  if (violation !== undefined) await report(result, command, runOne);
  return violation === undefined && !differs;
}

async function report(result: RunResult, command: Command, runOne: RunOne): Promise<void> {
  const also = command['real-scripts'] ? ' --real-scripts' : '';
  console.log(`  ${replayOf(result.settings)}${also}`);
  const smallest = command['no-shrink'] ? result : await shrink(result, runOne);
  if (smallest !== result) {
    const faults = smallest.faults.map(({ number, kind }) => `${number} ${kind}`).join(', ');
    console.log(`  shrunk to the faults: ${faults || 'none'}`);
    console.log(`  ${replayOf(smallest.settings)}${also}`);
  }
  for (const line of timelineOf(smallest)) console.log(`    ${line}`);
}

/** Seconds of processor time: other work of the machine does not end a search sooner. */
function spent(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

assertDeterministic();
await main(process.argv.slice(2));
