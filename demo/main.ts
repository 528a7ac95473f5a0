import { randomBytes } from 'node:crypto';
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

import { makeTemporaryFolder } from '../test/support/temporary-folder.js';

import { Board } from './board.js';
import { bundleWorkers } from './bundle-workers.js';
import { type DemoOptions, HELP, readCommandLine, UsageError } from './command-line.js';
import { JudgeServer } from './judge-server.js';
import { killAHolder } from './kill-a-holder.js';
import { OneProcessCrew } from './one-process-crew.js';
import { type OpenBackend, openBackend } from './open-backend.js';
import { ProcessCrew } from './process-crew.js';
import { type Facts, prove } from './proof.js';
import { openView } from './view.js';

// Leaves npm and tsx a second and a half to start, so that the whole never takes more than 15 s.
const DEADLINE = 13_500;
// A machine that is slow to start the workers gets a shorter show.
const CURTAIN = 10_000;

interface Stage {
  readonly options: DemoOptions;
  readonly server: JudgeServer;
  readonly board: Board;
}

async function runDemo(options: DemoOptions): Promise<boolean> {
  const { workers, permits, allowed } = options;
  const backend = await openBackend();
  console.log(
    `redsem demo: ${workers} workers call an HTTP server under a semaphore of ${permits}`,
  );
  console.log(`backend: ${backend.description}`);
  const server = await JudgeServer.start(allowed);
  const board = new Board(workers, permits);
  const view = openView({ board, judge: server.judge }, process.stdout);
  try {
    const facts = await perform({ options, server, board }, backend);
    view.end();
    const { lines, holds } = prove(facts);
    console.log(`\n${lines.join('\n')}`);
    return holds;
  } finally {
    view.end();
    await server.stop();
    await backend.stop();
  }
}

/** Starts the workers, lets them work, kills one if they are processes, and stops them. */
async function perform(stage: Stage, backend: OpenBackend): Promise<Facts> {
  const { options, server, board } = stage;
  const crew =
    backend.redisUrl === undefined
      ? new OneProcessCrew(options, server.url, board)
      : newProcessCrew(stage, backend.redisUrl);
  await crew.start();
  const started = performance.now();
  const duration = Math.min(options.seconds * 1000, CURTAIN - started);
  let killing: Facts['killing'] = 'none';
  if (crew instanceof ProcessCrew) {
    await sleep(duration * 0.45);
    killing = await killAHolder(server, crew, board, options.ttl);
  }
  await sleep(Math.max(0, started + duration - performance.now()));
  await crew.stop();
  const { judge } = server;
  const { lost, problems } = board;
  const { description } = backend;
  const { workers } = options;
  return { backend: description, crew: crew.description, workers, judge, killing, lost, problems };
}

function newProcessCrew(stage: Stage, redisUrl: string): ProcessCrew {
  const { options, server, board } = stage;
  const prefix = `redsem-demo-${randomBytes(6).toString('hex')}`;
  const { permits: limit, ttl, workers } = options;
  const assignment = { redisUrl, judgeUrl: server.url, prefix, limit, ttl };
  return new ProcessCrew(workers, bundleWorkers(makeTemporaryFolder()), assignment, board);
}

/**
 * Whatever hangs, and however it is ended short of SIGKILL: folders, servers and workers go with
 * it.
 */
function endCleanly(): void {
  setTimeout(() => {
    console.error(`demo: not finished after ${DEADLINE / 1000} s, ended by its deadline`);
    process.exit(1);
  }, DEADLINE - performance.now()).unref();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => process.exit(128 + constants.signals[signal]));
  }
  // The reader of the output may leave, as in `npm run demo | head`.
  process.stdout.on('error', () => process.exit(1));
}

async function main(): Promise<void> {
  try {
    const options = readCommandLine(process.argv.slice(2));
    if (options === undefined) {
      console.log(HELP);
      return;
    }
    endCleanly();
    if (!(await runDemo(options))) process.exitCode = 1;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    console.error(`demo: ${message}`);
    // At once: parts that have not started must not keep the others alive.
    process.exit(error instanceof UsageError ? 2 : 1);
  }
}

await main();
