import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';

import { startMocha } from '../../test/support/mocha-run.js';
import { type DebianServer, fetchServer, suiteOf, versionOf } from './debian-server.js';
import { type Totals, untilEnded } from '../support/mocha-output.js';

const USAGE = `npm run verify:servers -- [SERVER-SUITE ...]
Downloads servers from Debian and runs the tests on each, one after the other; prints a row of docs/evidence/servers.md for each.
Without a name (such as valkey-trixie) all of them. Ends with 1 when a test failed, or when no server could be had.`;

const servers: readonly DebianServer[] = [
  { kind: 'redis', suites: ['bookworm'] },
  { kind: 'redict', suites: ['bookworm', 'bookworm-backports'] },
  { kind: 'valkey', suites: ['bookworm', 'bookworm-backports'] },
  { kind: 'redis', suites: ['trixie'] },
  { kind: 'valkey', suites: ['trixie'] },
  { kind: 'redis', suites: ['sid'] },
  { kind: 'valkey', suites: ['sid'] },
  { kind: 'redis', suites: ['sid', 'experimental'] },
];

const TESTS = '{test,verification}/{conformance,faults,scripts,server,topologies}/**/*.test.ts';
const CACHE = resolve('node_modules/.cache/servers');

const chosen = process.argv.slice(2);
const unknown = chosen.filter((name) => !servers.some((server) => nameOf(server) === name));
if (unknown.length > 0) {
  console.error(`${USAGE}\nNames: ${servers.map(nameOf).join(' ')}`);
  process.exitCode = 2;
} else await main();

async function main(): Promise<void> {
  const git = ['describe', '--always', '--dirty', '--exclude=*'];
  const commit = spawnSync('git', git, { encoding: 'utf8' }).stdout.trim();
  const wanted = servers.filter((server) => chosen.length === 0 || chosen.includes(nameOf(server)));
  const date = new Date().toISOString().slice(0, 10);
  let [done, failures] = [0, 0];
  for (const server of wanted) {
    const tested = await testOn(server);
    const { passed = '–', failed = '–', skipped = '–' } = tested?.totals ?? {};
    const counts = [passed, failed, skipped].map((count) => count.toLocaleString('en'));
    const version = tested?.version ?? 'not to be had';
    console.log(
      `| ${[server.kind, suiteOf(server), version, ...counts, date, commit].join(' | ')} |`,
    );
    done += tested === undefined ? 0 : 1;
    failures += tested?.totals.failed ?? 0;
  }
  // A run without a single server has shown nothing.
  if (done === 0 || failures > 0) process.exitCode = 1;
}

/** Undefined where the package cannot be had. */
async function testOn(server: DebianServer) {
  const folder = join(CACHE, nameOf(server));
  let program: string;
  try {
    program = fetchServer(server, folder);
  } catch (error) {
    console.error(`${nameOf(server)} is not to be had:`, error);
    return undefined;
  }
  const [version, log] = [versionOf(program), join(folder, 'tests.log')];
  console.log(`${nameOf(server)} ${version}: the tests write to ${log}`);
  const totals = await runTests(program, log);
  return { version, totals };
}

async function runTests(program: string, log: string): Promise<Totals> {
  const parallel = ['--parallel', '--jobs', String(availableParallelism())];
  const child = startMocha([...parallel, TESTS], { REDIS_SERVER: program }, 'pipe');
  const { text, totals } = await untilEnded(child);
  writeFileSync(log, text);
  if (totals === undefined) throw new Error(`the tests gave no totals: see ${log}`);
  return totals;
}

function nameOf(server: DebianServer): string {
  return `${server.kind}-${suiteOf(server)}`;
}
