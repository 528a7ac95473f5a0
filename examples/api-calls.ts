// Three processes call an API that allows four calls at a time, over all processes. The output
// shows the most calls that the API had open at once.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createClient } from 'redis';
import { Semaphore } from 'redsem';

const LIMIT = 4;
const WORKERS = 3;
const CALLS = 20;

if (process.argv[2] === 'worker') await work(process.argv[3] ?? '');
else await main();

async function work(url: string): Promise<void> {
  const client = await createClient({ url: process.env['REDIS_URL'] ?? 'redis://localhost' })
    .on('error', (error: Error) => console.error(error.message))
    .connect();
  const slots = new Semaphore(client, 'example-api', { limit: LIMIT, ttl: 10_000 });
  const call = (): Promise<number> =>
    slots.use(async ({ signal }) => (await fetch(url, { signal })).status, { timeout: 60_000 });
  const answers = await Promise.all(Array.from({ length: CALLS }, call));
  console.log(`${answers.filter((status) => status === 200).length} calls answered`);
  await slots.close();
  client.destroy();
}

async function main(): Promise<void> {
  let open = 0;
  let most = 0;
  const answer = async (response: ServerResponse): Promise<void> => {
    open += 1;
    most = Math.max(most, open);
    await sleep(10);
    open -= 1;
    response.end();
  };
  const server = createServer((_request, response) => void answer(response));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/`;
  const start = (): Promise<unknown> =>
    once(fork(fileURLToPath(import.meta.url), ['worker', url]), 'exit');
  await Promise.all(Array.from({ length: WORKERS }, start));
  console.log(`never more than ${most} of ${LIMIT} at once`);
  server.close();
}
