// Checks verification/formal/semaphore.pml and order.pml with spin: every property of the protocol
// and of the queue's order for small numbers of processes, and that each rule is needed, by leaving
// it out. Prints one line for each check; fails when a verdict is not the expected one, or when a
// search was not exhaustive.
//
//   node verification/formal/check.mjs [--quick] [words of a title]
//
// --quick leaves out what takes long. Needs spin and a C compiler (Debian: apt-get install spin
// gcc).
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, constants, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const fileOf = (name) => fileURLToPath(new URL(`./${name}.pml`, import.meta.url));
/** Megabytes that one search may take. Two run at a time. */
const MEMORY = 1900;
const HOLDS = 'holds';
const CYCLE = 'acceptance cycle';

/**
 * @typedef {{ model: string, title: string, property: string, options: string[], flags: string[],
 *   long: boolean, expected: string }} Check
 */

/** Any number of faults, delays and crashes. */
const untimed = (n, limit) => [`N=${n}`, `LIMIT=${limit}`];

/** Every step comes in time, except for this number of faults and crashes. */
const timed = (n, limit, faults, crashes) => [
  ...untimed(n, limit),
  'TIMED',
  'CLAIM=2',
  'LEASE=2',
  `FAULTS=${faults}`,
  `CRASHES=${crashes}`,
];

const size = (n, limit) => `${n} processes, limit ${limit}`;

/** @returns {Check} */
function check(
  title,
  property,
  options,
  { expected = HOLDS, flags = [], long = false, model = 'semaphore' } = {},
) {
  return { model, title, property, options, flags, long, expected };
}

const PROGRESS = ['served', 'gone'];

function protocol() {
  const checks = [];
  // The longest first, so that the others run beside it.
  for (const [n, limit] of [
    [3, 2],
    [3, 1],
    [2, 1],
    [2, 2],
  ]) {
    const who = size(n, limit);
    const long = n === 3;
    const both = `${who}, 1 fault, 1 crash`;
    if (n === 2) {
      checks.push(check(`${who}, any faults`, 'safety', untimed(n, limit), { long: true }));
    }
    checks.push(check(both, 'safety', timed(n, limit, 1, 1), { long }));
    if (n === 2) {
      checks.push(...PROGRESS.map((it) => check(both, it, timed(n, limit, 1, 1))));
      continue;
    }
    const [fault, crash] = [`${who}, 1 fault`, `${who}, 1 crash`];
    // Two permits and a fault take more than one search may.
    if (limit === 1) {
      checks.push(...PROGRESS.map((it) => check(fault, it, timed(n, limit, 1, 0), { long })));
    }
    checks.push(...PROGRESS.map((it) => check(crash, it, timed(n, limit, 0, 1), { long })));
  }
  return checks;
}

/** The protocol with one rule left out, for the fewest faults that show it. */
function without(rule, title, expected, { property = 'safety', faults = 1, flags = [] } = {}) {
  return check(title, property, [...timed(2, 1, faults, 1), `BREAK_${rule}`], { expected, flags });
}

function brokenRules() {
  const unserved = { property: 'served' };
  return [
    without('PURGE', 'expired tickets still count', CYCLE, unserved),
    without('CLAIM_EXPIRY', 'a grant waits for its claim for ever', CYCLE, unserved),
    without('POLLING', 'pushes are relied upon, no polling', CYCLE, unserved),
    without('LEASE_RENEWAL', 'tries do not renew the waiter lease', 'live_dropped', { faults: 0 }),
    without('WAITER_LEASE', 'dead waiters are not skipped', 'grants_to_dead'),
    without('GRANT_IN_FREEING_CALL', 'a release grants nothing', 'idle_permits'),
    without('OVERTAKING', 'the fast path overtakes the queue', 'overtaken'),
    without('IDEMPOTENCE', 'a second try does not find its ticket', 'doubled'),
    without('NOT_AFTER', 'no notAfter', 'acts_after_not_after'),
    without('WITHDRAWAL', 'a rejected request is not withdrawn', 'phantoms'),
    without('WITHDRAWAL_FROM_QUEUE', 'release leaves the queue alone', 'phantoms'),
    without('RETRIED_WITHDRAWAL', 'a withdrawal is tried once', 'phantoms'),
    without('MISSING_TICKET', 'an extension makes a missing ticket', 'live_tickets'),
    without('RELEASE_BY_ID', 'release frees any ticket', 'uncovered_leases'),
    without('HELD_IS_KEPT', 'a late reply withdraws a held ticket', 'uncovered_leases'),
    without('COUNTED_FROM_SENDING', 'a lease counts from the reply', 'uncovered_leases'),
    without('CLAIM_COUNTED_FROM_GRANT', 'a claim counts from the push', 'uncovered_leases'),
  ];
}

/** Without these rules a permit comes back as well, but later. -A: no assertions. */
function slowerWithout() {
  const flags = ['-A'];
  return [
    without('GRANT_IN_FREEING_CALL', 'a release grants nothing', HOLDS, {
      property: 'served',
      flags,
    }),
    without('WITHDRAWAL', 'a rejected request is not withdrawn', HOLDS, {
      property: 'gone',
      flags,
    }),
    without('NOT_AFTER', 'no notAfter', HOLDS, { property: 'gone', flags }),
  ];
}

function order() {
  const title = 'the order of the queue: three groups, limit 2';
  const leftOut = (rule, what, expected) =>
    check(what, 'safety', [`BREAK_${rule}`], { expected, model: 'order' });
  return [
    check(title, 'safety', [], { model: 'order' }),
    leftOut('PRIORITY', 'the order leaves priority out', 'demoted'),
    leftOut('WEIGHT', 'the order leaves weights out', 'starved'),
    leftOut('NO_HOLES', 'withdrawn requests leave holes', 'unfair'),
    leftOut('NO_SAVING', 'idle groups save up', 'starved'),
    leftOut('VIRTUAL_TIME', 'virtual time is the start of the last grant', 'starved'),
    leftOut('BLOCKING', 'a request that does not fit blocks no other', 'demoted'),
  ];
}

function run(program, args, cwd) {
  return new Promise((resolve, reject) => {
    execFile(program, args, { cwd, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      const output = stdout + stderr;
      // Without a number it could not be started, or was ended.
      if (error !== null && typeof error.code !== 'number') {
        reject(new Error(`${program} did not run to its end`, { cause: error }));
      } else resolve({ exitCode: error?.code ?? 0, output });
    });
  });
}

async function runOrThrow(program, args, cwd) {
  const { exitCode, output } = await run(program, args, cwd);
  if (exitCode !== 0) throw new Error(`${program} ${args.join(' ')}\n${output}`);
}

/** Spin writes a verifier in C for the one property, and that searches all states. */
async function search({ model, property, options, flags, long }, folder) {
  const safety = property === 'safety';
  const defines = [...options, ...(safety ? [] : ['LIVENESS'])].map((name) => `-D${name}`);
  await runOrThrow('spin', ['-a', ...defines, fileOf(model)], folder);
  const kind = safety ? ['-DSAFETY', '-DNOCLAIM'] : [];
  // Partial order reduction finds nothing to leave out here, as every step touches the server or
  // the clock. Where little is searched, compiling takes longer.
  const build = [
    long ? '-O2' : '-O0',
    '-w',
    ...kind,
    '-DNOREDUCE',
    `-DMEMLIM=${MEMORY}`,
    '-o',
    'pan',
    'pan.c',
  ];
  await runOrThrow('gcc', build, folder);
  const target = safety ? [] : ['-a', '-N', property];
  const { output } = await run(
    join(folder, 'pan'),
    ['-m2000000', long ? '-w24' : '-w20', ...target, ...flags],
    folder,
  );
  return output;
}

function verdictOf(output) {
  const assertion = /assertion violated \((\w+)/.exec(output)?.[1];
  if (assertion !== undefined) return assertion;
  if (/^pan:\d+: acceptance cycle/m.test(output)) return CYCLE;
  const complete = !/search not completed|max search depth|out of memory/i.test(output);
  return complete && /errors: 0\b/.test(output) ? HOLDS : 'search not complete';
}

/** @param {Check} item */
async function decide(item) {
  const folder = mkdtempSync(join(tmpdir(), 'redsem-formal-'));
  try {
    const output = await search(item, folder);
    const verdict = verdictOf(output);
    const states = Number(/(\d+) states, stored/.exec(output)?.[1] ?? Number.NaN);
    const seconds = Number(/elapsed time ([\d.]+) seconds/.exec(output)?.[1] ?? 0);
    const megabytes = Number(/([\d.]+)\s+total actual memory/.exec(output)?.[1] ?? 0);
    const { title, property, expected } = item;
    return { title, property, states, seconds, megabytes, verdict, expected, output };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const COLUMNS = [-44, -8, 10, 8, 6];

function line(cells) {
  const padded = COLUMNS.map((width, i) => {
    const cell = String(cells[i]);
    return width < 0 ? cell.padEnd(-width) : cell.padStart(width);
  });
  return `${padded.join('  ')}  ${String(cells[5]).padEnd(20)}  ${cells[6]}`;
}

function show({ title, property, states, seconds, megabytes, verdict, expected }) {
  const wrong = verdict === expected ? '' : '   <-- not as expected';
  return `${line([title, property, states, seconds.toFixed(1), Math.round(megabytes), verdict, expected])}${wrong}`;
}

/**
 * Takes from the list until it is empty; as many at a time as there are processors, at most two.
 */
async function decideAll(checks, report) {
  const results = [];
  const waiting = checks.entries();
  const work = async () => {
    for (const [i, item] of waiting) {
      results[i] = await decide(item);
      report(results[i]);
    }
  };
  await Promise.all(Array.from({ length: Math.min(2, availableParallelism()) }, work));
  return results;
}

function isInstalled(program, flag) {
  return spawnSync(program, [flag], { stdio: 'ignore' }).error === undefined;
}

/** Without a check that leaves it out, nothing shows that a rule is needed. */
function rulesWithoutCheck(checks) {
  const models = ['semaphore', 'order'].map((name) => readFileSync(fileOf(name), 'utf8'));
  const rules = new Set(models.join('').match(/BREAK_[A-Z][A-Z_]+/g));
  const leftOut = new Set(checks.flatMap(({ options }) => options));
  return [...rules].filter((rule) => !leftOut.has(rule));
}

async function main(args) {
  const missing = [
    ['spin', '-V'],
    ['gcc', '--version'],
  ].filter(([program, flag]) => !isInstalled(program, flag));
  if (missing.length > 0) {
    process.stderr.write(`${missing.map(([program]) => program).join(' and ')} not found\n`);
    process.exitCode = 2;
    return;
  }
  const words = args.filter((arg) => !arg.startsWith('--')).join(' ');
  const all = [...protocol(), ...order(), ...brokenRules(), ...slowerWithout()];
  const unneeded = rulesWithoutCheck(all);
  if (unneeded.length > 0) throw new Error(`no check leaves out ${unneeded.join(', ')}`);
  const checks = all
    .filter(({ title }) => title.includes(words))
    .filter(({ long }) => !long || !args.includes('--quick'));
  setPriority(process.pid, constants.priority.PRIORITY_LOW);
  console.log(line(['check', 'property', 'states', 's', 'MB', 'verdict', 'expected']));
  const results = await decideAll(checks, (result) => console.log(show(result)));
  const wrong = results.filter(({ verdict, expected }) => verdict !== expected);
  for (const { title, output } of wrong) process.stderr.write(`\n${title}\n${output}`);
  if (wrong.length > 0 || results.length === 0) process.exitCode = 1;
}

await main(process.argv.slice(2));
