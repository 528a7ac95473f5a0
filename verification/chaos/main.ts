import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { number } from '../simulation/command-line.js';
import { reportOf } from './report.js';
import { runChaos, type Settings } from './run-chaos.js';
import { catalog } from './topologies/catalog.js';

const NAMES = ['single', 'sentinel', 'cluster', 'quorum'] as const;

const HELP = `npm run chaos -- [options]

Lets processes contend for a semaphore while faults strike, and checks what they saw.

  --seed N       which faults come, and when; the same seed plans the same (default: 1)
  --minutes M    for how long faults strike (default: 1)
  --ttl T        of the semaphore, in milliseconds, at least 100 (default: 1000)
  --topology T   ${NAMES.join(', ')} (default: single)
  --keeper       each process has a keeper, and its loop is blocked at times
  --out FOLDER   where the history goes (default: chaos-report)
`;

try {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string', default: '1' },
      minutes: { type: 'string', default: '1' },
      ttl: { type: 'string', default: '1000' },
      topology: { type: 'string', default: 'single' },
      keeper: { type: 'boolean', default: false },
      out: { type: 'string', default: 'chaos-report' },
      help: { type: 'boolean', default: false },
    },
  });
  const { keeper } = values;
  // No keeper renews on several masters.
  const names = NAMES.filter((name) => !keeper || catalog[name].nodes === 1);
  const topology = names.find((name) => name === values.topology);
  if (topology === undefined) {
    throw new RangeError(`--topology: expected ${names.join(', ')}, got '${values.topology}'`);
  }
  const seed = number('seed', values.seed, 0);
  const minutes = number('minutes', values.minutes, 0.01);
  const ttl = number('ttl', values.ttl, 100);
  const settings = { seed, minutes, ttl, topology, keeper };
  if (values.help) console.log(HELP);
  else process.exitCode = (await run(settings, values.out)) ? 0 : 1;
} catch (error) {
  console.error(error instanceof TypeError || error instanceof RangeError ? error.message : error);
  process.exitCode = 2;
}

async function run(settings: Settings, reports: string): Promise<boolean> {
  const { seed, minutes, ttl, topology, keeper } = settings;
  const out = join(reports, `${topology}-${seed}-${minutes}-${ttl}${keeper ? '-keeper' : ''}`);
  const folder = join(out, 'history');
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    throw new RangeError(`${folder} is not empty: choose another folder with --out`);
  }
  mkdirSync(folder, { recursive: true });
  const options = `--seed ${seed} --minutes ${minutes} --ttl ${ttl} --topology ${topology}${keeper ? ' --keeper' : ''}`;
  const command = `npm run chaos -- ${options}`;
  console.log(command);
  const { events, violations, stalls } = await runChaos(settings, folder);
  console.log(`\n${reportOf(events, violations)}\n`);
  // Without a keeper all are lost: each loop is blocked for longer than a ttl.
  if (keeper) console.log(`Of ${stalls.held} permits of blocked loops ${stalls.kept} were kept.`);
  return violations.length === 0 && 2 * stalls.kept >= stalls.held;
}
