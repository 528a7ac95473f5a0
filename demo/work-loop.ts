import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import { AcquireTimeoutError, type Handle, type Semaphore } from '../src/index.js';
import { jobUrl } from './judge-server.js';

export type WorkerState =
  'starting' | 'waiting' | 'running' | 'resting' | 'lost' | 'done' | 'killed' | 'failed';

export interface WorkerReport {
  readonly worker: number;
  readonly state: WorkerState;
  /** The slot of the permit that is held or, with `lost`, was held. */
  readonly slot?: number;
  readonly problem?: string;
}

/** Checks messages of another process; only workers of this demo send them. */
export function isWorkerReport(message: unknown): message is WorkerReport {
  return (
    typeof message === 'object' && message !== null && 'worker' in message && 'state' in message
  );
}

export interface Work {
  readonly worker: number;
  readonly judgeUrl: string;
  readonly report: (report: WorkerReport) => void;
  /** Ends the loop: at once while waiting, else after the request under way. */
  readonly stop: AbortSignal;
}

const PATIENCE = 5000;

/**
 * The work of each worker: get a permit, call the HTTP server, give the permit back, rest, repeat.
 */
export async function workUntilStopped(semaphore: Semaphore, work: Work): Promise<void> {
  const { worker, report, stop } = work;
  while (!stop.aborted) {
    report({ worker, state: 'waiting' });
    const handle = await acquireUnlessStopped(semaphore, stop);
    if (handle === undefined) continue;
    try {
      await callServer(handle, work);
    } finally {
      await handle.release();
    }
    report({ worker, state: 'resting' });
    await sleep(randomInt(40, 120));
  }
  report({ worker, state: 'done' });
}

async function acquireUnlessStopped(
  semaphore: Semaphore,
  stop: AbortSignal,
): Promise<Handle | undefined> {
  try {
    return await semaphore.acquire({ timeout: PATIENCE, signal: stop });
  } catch (error) {
    if (stop.aborted || error instanceof AcquireTimeoutError) return undefined;
    throw error;
  }
}

async function callServer(handle: Handle, work: Work): Promise<void> {
  const { worker, judgeUrl, report } = work;
  const { slot, fencingToken } = handle;
  report({ worker, state: 'running', slot });
  try {
    handle.assertHeld();
    const url = jobUrl(judgeUrl, { worker, slot, fencingToken });
    // A worker that lost its permit must stop: the signal then ends the request.
    const response = await fetch(url, { signal: handle.signal });
    const answer = await response.text();
    if (!response.ok) throw new Error(`the HTTP server answered ${response.status}: ${answer}`);
  } catch (error) {
    if (handle.held) throw error;
    report({ worker, state: 'lost', slot });
  }
}
