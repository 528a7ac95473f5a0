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
import { promisify } from 'node:util';

const fileOf = (name) => fileURLToPath(new URL(`./${name}.pml`, import.meta.url));
/** Megabytes that one search may take. Two run at a time. */
const MEMORY = 1900;
const HOLDS = 'holds';
const CYCLE = 'acceptance cycle';

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

function check(
  title,
  property,
  options,
  { expected = HOLDS, flags = [], long = false, model = 'semaphore' } = {},
) {
  return { model, title, property, options, flags, long, expected };
}

/** Every request is served, or gone, in the end. */
function progress(title, options, long = false) {
  return ['served', 'gone'].map((property) => check(title, property, options, { long }));
}

/** The longest first, so that the others run beside it. */
function protocol() {
  const three = [2, 1].flatMap((limit) => {
    const who = `3 processes, limit ${limit}`;
    const both = check(`${who}, 1 fault, 1 crash`, 'safety', timed(3, limit, 1, 1), { long: true });
    const crash = progress(`${who}, 1 crash`, timed(3, limit, 0, 1), true);
    // Two permits and a fault take more than one search may.
    const fault = limit > 1 ? [] : progress(`${who}, 1 fault`, timed(3, limit, 1, 0), true);
    return [both, ...fault, ...crash];
  });
  const two = [1, 2].flatMap((limit) => {
    const who = `2 processes, limit ${limit}`;
    const [both, options] = [`${who}, 1 fault, 1 crash`, timed(2, limit, 1, 1)];
    const any = check(`${who}, any faults`, 'safety', untimed(2, limit), { long: true });
    return [any, check(both, 'safety', options), ...progress(both, options)];
  });
  return [...three, ...two];
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
  const gone = { property: 'gone', flags: ['-A'] };
  return [
    without('GRANT_IN_FREEING_CALL', 'a release grants nothing', HOLDS, {
      ...gone,
      property: 'served',
    }),
    without('WITHDRAWAL', 'a rejected request is not withdrawn', HOLDS, gone),
    without('NOT_AFTER', 'no notAfter', HOLDS, gone),
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

const execute = promisify(execFile);

async function run(program, args, cwd) {
  const { stdout, stderr } = await execute(program, args, { cwd, maxBuffer: 64 * 1024 * 1024 });
  return stdout + stderr;
}

/** Spin writes a verifier in C for the one property, and that searches all states. */
async function search({ model, property, options, flags, long }, folder) {
  const safety = property === 'safety';
  const defines = [...options, ...(safety ? [] : ['LIVENESS'])].map((name) => `-D${name}`);
  await run('spin', ['-a', ...defines, fileOf(model)], folder);
  const kind = safety ? ['-DSAFETY', '-DNOCLAIM'] : [];
  // Partial order reduction finds nothing to leave out here, as every step touches the server or
  // the clock. Where little is searched, compiling takes longer.
  const fixed = `-w -DNOREDUCE -DMEMLIM=${MEMORY} -o pan pan.c`.split(' ');
  await run('gcc', [long ? '-O2' : '-O0', ...kind, ...fixed], folder);
  const target = safety ? [] : ['-a', '-N', property];
  const size = ['-m2000000', long ? '-w24' : '-w20'];
  return run(join(folder, 'pan'), [...size, ...target, ...flags], folder);
}

function verdictOf(output) {
  const assertion = /assertion violated \((\w+)/.exec(output)?.[1];
  if (assertion !== undefined) return assertion;
  if (/^pan:\d+: acceptance cycle/m.test(output)) return CYCLE;
  const complete = !/search not completed|max search depth|out of memory/i.test(output);
  return complete && /errors: 0\b/.test(output) ? HOLDS : 'search not complete';
}

async function decide(item) {
  const folder = mkdtempSync(join(tmpdir(), 'redsem-formal-'));
  try {
    const output = await search(item, folder);
    const verdict = verdictOf(output);
    const states = /(\d+) states, stored/.exec(output)?.[1];
    const seconds = /elapsed time ([\d.]+) seconds/.exec(output)?.[1] ?? 0;
    const megabytes = /([\d.]+)\s+total actual memory/.exec(output)?.[1];
    const { title, property, expected } = item;
    const figures = `${states} states, ${seconds} s, ${megabytes} MB`;
    console.log(`${title.padEnd(44)}  ${property.padEnd(8)}  ${figures.padEnd(36)}  ${verdict}`);
    if (verdict === expected) return true;
    console.error(`\n${title}: expected ${expected}, not ${verdict}\n${output}`);
    return false;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** As many at a time as there are processors, at most two. Gives whether all are as expected. */
async function decideAll(checks) {
  const waiting = checks.values();
  let isRight = checks.length > 0;
  const work = async () => {
    for (const item of waiting) if (!(await decide(item))) isRight = false;
  };
  await Promise.all(Array.from({ length: Math.min(2, availableParallelism()) }, work));
  return isRight;
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
  if (!isInstalled('spin', '-V') || !isInstalled('gcc', '--version')) {
    console.error('spin or gcc not found');
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
  if (!(await decideAll(checks))) process.exitCode = 1;
}

await main(process.argv.slice(2));
