import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

// Below the ports that systems hand out to outgoing connections (from 32768 on Linux), and so is a
// cluster node's bus port (port + 10000), which is no other server's port: no process takes the
// port of a server that is down for a moment.
const lowest = 10_000;
const highest = 20_000;
// Where test files run side by side, each process has its own ports: the others know nothing of a
// server that is down.
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
