import { type RedisTarget, Semaphore } from '../src/index.js';
import { onMessage, report as send, workerArguments } from '../test/support/worker-side.js';
import { type WorkerReport, workUntilStopped } from './work-loop.js';

/** What a worker process gets to know. */
export interface Assignment {
  readonly worker: number;
  readonly redisUrl: string;
  readonly judgeUrl: string;
  readonly prefix: string;
  readonly limit: number;
  readonly ttl: number;
}

export interface ConnectedClient {
  readonly target: RedisTarget;
  close(): Promise<unknown>;
}

export type Connect = (url: string) => Promise<ConnectedClient>;

/** The whole life of one worker process. */
export async function runWorkerProcess(connect: Connect): Promise<void> {
  const assignment = workerArguments<Assignment>();
  const { worker } = assignment;
  // Its parent decides what Ctrl-C means.
  process.on('SIGINT', () => {});
  const stop = new AbortController();
  onMessage('stop', () => stop.abort());
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
  send('report', message);
}
