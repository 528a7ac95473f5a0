import type { Violation } from '../history/events.js';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { type ChaosArguments, HELP, readCommandLine } from './command-line.js';
import { assembleRun } from './checker/assemble-run.js';
import { describeFault, describePlan } from './nemesis/describe-plan.js';
import type { PlannedFault } from './nemesis/plan.js';
import { writeReport } from './report/write-report.js';
import { planOf, runChaos } from './run-chaos.js';

const SHOWN = 20;

try {
  const args = readCommandLine(process.argv.slice(2));
  if (args.help) console.log(HELP);
  else if (args.planOnly) console.log(describePlan(planOf(args)));
  else process.exitCode = (await run(args)) ? 0 : 1;
} catch (error) {
  console.error(error instanceof TypeError || error instanceof RangeError ? error.message : error);
  process.exitCode = 2;
}

async function run(args: ChaosArguments): Promise<boolean> {
  const { seed, minutes, ttl, topology, keeper } = args;
  const out = join(args.out, `${topology}-${seed}-${minutes}-${ttl}${keeper ? '-keeper' : ''}`);
  const folder = join(out, 'history');
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    throw new RangeError(`${folder} is not empty: choose another folder with --out`);
  }
  mkdirSync(folder, { recursive: true });
  const options = `--seed ${seed} --minutes ${minutes} --ttl ${ttl} --topology ${topology}${keeper ? ' --keeper' : ''}`;
  const command = `npm run chaos -- ${options}`;
  console.log(`${command}\n\n${describePlan(planOf(args))}\n`);
  const { plan, events, violations, stalls } = await runChaos({
    seed,
    minutes,
    ttl,
    topology,
    keeper,
    folder,
    onFault: announce,
  });
  const path = writeReport(out, { command, plan, run: assembleRun(events), violations });
  console.log(`\n${describeViolations(violations)}\n${path}`);
  // Without a keeper all are lost: each loop is blocked for longer than a ttl.
  if (keeper) console.log(`Of ${stalls.held} permits of blocked loops ${stalls.kept} were kept.`);
  return violations.length === 0 && 2 * stalls.kept >= stalls.held;
}

function announce(fault: PlannedFault): void {
  console.log(`now: ${describeFault(fault).trim()}`);
}

function describeViolations(violations: readonly Violation[]): string {
  if (violations.length === 0) return 'Every promise was kept.';
  const lines = violations.slice(0, SHOWN).map(({ rule, message }) => `${rule}: ${message}`);
  return [`Violations: ${violations.length}`, ...lines].join('\n');
}
