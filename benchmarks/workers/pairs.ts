import { quantile } from '../measure/quantile.js';
import type { Connection } from '../peers/adapter.js';

export interface PairsTask {
  /** A semaphore for each loop, or one for all. */
  readonly names: readonly string[];
  readonly limit: number;
  readonly loops: number;
  readonly ms: number;
}

export interface PairsResult {
  readonly pairs: number;
  readonly elapsedMs: number;
  readonly cpuUs: number;
  readonly p50Us: number;
  readonly p99Us: number;
}

const ttl = 600_000;

/** Loops that acquire and release, one pair after the other, until the time is over. */
export async function runPairs(connection: Connection, task: PairsTask): Promise<PairsResult> {
  const latencies: number[] = [];
  const cpu = process.cpuUsage();
  const started = performance.now();
  const loops = Array.from({ length: task.loops }, (_, i) => {
    const name = task.names[i % task.names.length] ?? '';
    return loop(connection, name, task.limit, started + task.ms, latencies);
  });
  await Promise.all(loops);
  const elapsedMs = performance.now() - started;
  const { user, system } = process.cpuUsage(cpu);
  latencies.sort((a, b) => a - b);
  return {
    pairs: latencies.length,
    elapsedMs,
    cpuUs: user + system,
    p50Us: quantile(latencies, 0.5) * 1000,
    p99Us: quantile(latencies, 0.99) * 1000,
  };
}

async function loop(
  connection: Connection,
  name: string,
  limit: number,
  until: number,
  latencies: number[],
): Promise<void> {
  for (let from = performance.now(); from < until;) {
    const release = await connection.acquire(name, limit, ttl);
    await release();
    const to = performance.now();
    latencies.push(to - from);
    from = to;
  }
}
