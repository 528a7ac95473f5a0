/*
 * npm run test:stress -- [--runs 30] [--at-once 1]: `npm test` again and again while each core has
 * something else to do (other runs, where several run at once) and every process of a run is
 * stopped for 5 to 500 ms now and then. No verdict may change. Each run is named when it ends, with
 * each test that failed.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { familyOf } from '../test/cli/process-states.js';
import { ALL_TESTS, missingParts, startMocha } from '../test/support/mocha-run.js';
import { untilEnded } from './support/mocha-output.js';

const { values, positionals } = parseArgs({
  options: {
    runs: { type: 'string', default: '30' },
    'at-once': { type: 'string', default: '1' },
  },
  allowPositionals: true,
});
const files = positionals.length > 0 ? positionals : ALL_TESTS;
const atOnce = Number(values['at-once']);
const burners = Array.from({ length: Math.max(0, availableParallelism() - atOnce + 1) }, () =>
  spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
);
process.on('exit', () => burners.forEach((burner) => burner.kill('SIGKILL')));
process.on('SIGINT', () => process.exit(130));
process.on('SIGTERM', () => process.exit(143));

const runs: Awaited<ReturnType<typeof runOnce>>[] = [];
let left = Number(values.runs);
await Promise.all(Array.from({ length: atOnce }, runOneByOne));
const green = runs.filter(({ failure }) => failure === undefined).length;
console.log(`${green} of ${runs.length} runs green`);
process.exit(green === runs.length ? 0 : 1);

async function runOneByOne(): Promise<void> {
  while (left > 0) {
    left -= 1;
    const result = await runOnce();
    const ended = runs.push(result);
    console.log(`run ${ended} of ${values.runs}: ${result.totals}, ${result.seconds} s`);
    if (result.failure !== undefined) console.log(result.failure);
  }
}

async function runOnce() {
  const mocha = startMocha(['--parallel', '--jobs', '3', ...files], missingParts(), 'pipe');
  const pauses = new AbortController();
  const paused = pauseOften(mocha, pauses.signal);
  const { code, text, seconds } = await untilEnded(mocha);
  pauses.abort();
  await paused;
  const totals = /^\d+ passed, \d+ failed.*$/m.exec(text)?.[0] ?? `ended with ${code}`;
  const [, shown = ''] = text.split(/^ {2}\d+ failing$/m);
  const failure = code === 0 ? undefined : shown || text.slice(-2000);
  return { totals, seconds, failure };
}

/** Stops one process of the run at a time, or all of them, and lets it continue. */
async function pauseOften(mocha: ChildProcess, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await sleep(Math.random() * 300);
    const family = pausable(mocha.pid);
    const chosen = Math.random() < 0.2 ? family : family.filter(() => Math.random() < 0.15);
    for (const pid of chosen) send(pid, 'SIGSTOP');
    await sleep(5 * 100 ** Math.random());
    for (const pid of chosen) if (!existsSync(`/proc/${pid}/cwd/paused`)) send(pid, 'SIGCONT');
  }
}

/**
 * The processes of mocha with the servers that they started. Other processes, such as commands
 * under test, are left alone: a test stops some of them, and they would continue too soon.
 */
function pausable(root: number | undefined): number[] {
  const running = familyOf(root).filter(({ state }) => state !== 'T');
  const pids = running.map(({ pid }) => pid);
  return pids.filter((pid) => /mocha|redis-server|valkey-server/.test(commandOf(pid)));
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended meanwhile.
  }
}
