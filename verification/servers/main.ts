import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';

import { startMocha } from '../../test/support/mocha-run.js';
import { fetchServer, versionOf } from './debian-server.js';
import { type Totals, untilEnded } from '../support/mocha-output.js';

const USAGE = `npm run verify:servers -- [SERVER-SUITE ...]
Downloads servers from Debian and runs the tests on each, one after the other; prints a row of docs/evidence/servers.md for each.
Without a name (such as valkey-trixie) all of them. Ends with 1 when a test failed, or when no server could be had.`;

const servers = [
  'redis-bookworm',
  'redict-bookworm-backports',
  'valkey-bookworm-backports',
  'redis-trixie',
  'valkey-trixie',
  'redis-sid',
  'valkey-sid',
  'redis-experimental',
];

const TESTS = '{test,verification}/{conformance,faults,scripts,server,topologies}/**/*.test.ts';
const CACHE = resolve('node_modules/.cache/servers');

const chosen = process.argv.slice(2);
if (chosen.some((name) => !servers.includes(name))) {
  console.error(`${USAGE}\nNames: ${servers.join(' ')}`);
  process.exitCode = 2;
} else await main(chosen.length > 0 ? chosen : servers);

async function main(wanted: readonly string[]): Promise<void> {
  const git = ['describe', '--always', '--dirty', '--exclude=*'];
  const commit = spawnSync('git', git, { encoding: 'utf8' }).stdout.trim();
  const date = new Date().toISOString().slice(0, 10);
  let [done, failures] = [0, 0];
  for (const name of wanted) {
    const [, kind = '', suite = ''] = /^(\w+)-(.*)$/.exec(name) ?? [];
    const tested = await testOn(kind, suite);
    const { passed = '–', failed = '–', skipped = '–' } = tested?.totals ?? {};
    const counts = [passed, failed, skipped].map((count) => count.toLocaleString('en'));
    const version = tested?.version ?? 'not to be had';
    console.log(`| ${[kind, suite, version, ...counts, date, commit].join(' | ')} |`);
    done += tested === undefined ? 0 : 1;
    failures += tested?.totals.failed ?? 0;
  }
  // A run without a single server has shown nothing.
  if (done === 0 || failures > 0) process.exitCode = 1;
}

/** Undefined where the package cannot be had. */
async function testOn(kind: string, suite: string) {
  const folder = join(CACHE, `${kind}-${suite}`);
  let program: string;
  try {
    program = fetchServer(kind, suite, folder);
  } catch (error) {
    console.error(`${kind} of ${suite} is not to be had:`, error);
    return undefined;
  }
  const [version, log] = [versionOf(program), join(folder, 'tests.log')];
  console.log(`${kind} ${version}: the tests write to ${log}`);
  return { version, totals: await runTests(program, log) };
}

async function runTests(program: string, log: string): Promise<Totals> {
  const parallel = ['--parallel', '--jobs', String(availableParallelism())];
  const child = startMocha([...parallel, TESTS], { REDIS_SERVER: program }, 'pipe');
  const { text, totals } = await untilEnded(child);
  writeFileSync(log, text);
  if (totals === undefined) throw new Error(`the tests gave no totals: see ${log}`);
  return totals;
}
