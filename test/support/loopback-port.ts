import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

// No process takes the port of a server that is down for a moment: these are below the ports of
// outgoing connections (from 32768 on Linux), and so is a cluster node's bus port (port + 10000).
const lowest = 10_000;
const highest = 20_000;
// Each process of a parallel run has its own ports.
const SLICES = 4;
const slice = Number(process.env['MOCHA_WORKER_ID'] ?? 0) % SLICES;
const given = new Set<number>();

/** A port of 127.0.0.1 that was free just now, never the same one twice in this process. */
export async function pickLoopbackPort(): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const port = lowest + slice + SLICES * randomInt((highest - lowest) / SLICES);
    if (given.has(port)) continue;
    given.add(port);
    const probe = createServer().listen(port, '127.0.0.1');
    try {
      await once(probe, 'listening');
    } catch {
      continue;
    }
    await once(probe.close(), 'close');
    return port;
  }
  throw new Error(`no free port found between ${lowest} and ${highest}`);
}
