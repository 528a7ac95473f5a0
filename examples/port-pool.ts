// A pool of ports for test servers on a machine: the holder of slot n has port 20000 + n alone. The
// port of a dead process comes back by itself.
import { createClient } from 'redis';
import type { Handle } from 'redsem';
import { Semaphore } from 'redsem';

const FIRST_PORT = 20_000;
const PORTS = 3;

const client = await createClient({ url: process.env['REDIS_URL'] ?? 'redis://localhost' })
  .on('error', (error: Error) => console.error(error.message))
  .connect();
const ports = new Semaphore(client, 'example-ports', { limit: PORTS });
const portOf = ({ slot }: Handle): number => FIRST_PORT + slot;

const taken = [await ports.acquire(), await ports.acquire(), await ports.acquire()];
console.log('taken:', taken.map(portOf).join(' '));
console.log('a fourth:', await ports.tryAcquire());
await taken[1]?.release();
console.log('the one that came back:', portOf(await ports.acquire()));

await ports.close(); // gives all of them back
client.destroy();
