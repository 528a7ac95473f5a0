import { type RedisTarget, Semaphore } from '../src/index.js';
import { type WorkerReport, workUntilStopped } from './work-loop.js';
import { type Assignment, fromEnvironment } from './worker-assignment.js';

export interface ConnectedClient {
  readonly target: RedisTarget;
  close(): Promise<unknown>;
}

export type Connect = (url: string) => Promise<ConnectedClient>;

/** The whole life of one worker process. */
export async function runWorkerProcess(connect: Connect): Promise<void> {
  const assignment = fromEnvironment();
  const { worker } = assignment;
  // A worker is nothing without its parent, which also decides what Ctrl-C means.
  process.on('disconnect', () => process.exit(1));
  process.on('SIGINT', () => {});
  const stop = new AbortController();
  process.on('message', () => stop.abort());
  try {
    await workAs(assignment, connect, stop.signal);
  } catch (error) {
    process.exitCode = 1;
    report({ worker, state: 'failed', problem: String(error) });
  }
  // From here on only a leak could keep this process alive; the parent watches for that.
  process.removeAllListeners('disconnect');
  process.disconnect();
}

async function workAs(assignment: Assignment, connect: Connect, stop: AbortSignal): Promise<void> {
  const { worker, redisUrl, judgeUrl, prefix, limit, ttl } = assignment;
  const client = await connect(redisUrl);
  try {
    const options = { limit, ttl, prefix, label: `worker ${worker}` };
    const semaphore = new Semaphore(client.target, 'http-api', options);
    try {
      await workUntilStopped(semaphore, { worker, judgeUrl, report, stop });
    } finally {
      await semaphore.close();
    }
  } finally {
    await client.close();
  }
}

function report(message: WorkerReport): void {
  process.send?.(message);
}
