// The module of a keeper, with its arguments in its address: gives a client; when there is a file
// of that name, it ends its thread.
import { existsSync } from 'node:fs';

const { port, kind, end, how } = Object.fromEntries(new URL(import.meta.url).searchParams);

setInterval(() => {
  if (!existsSync(end)) return;
  if (how === 'exit') process.exit(7);
  throw new Error('the end of its thread');
}, 20);

async function connect() {
  if (kind === 'ioredis') {
    const { Redis } = await import('ioredis');
    return new Redis({ port, connectionName: 'keeper' });
  }
  const { createClient } = await import('redis');
  // Without a listener for errors: a lost connection would end its thread.
  return createClient({ socket: { port }, name: 'keeper' }).connect();
}

export { connect as default };
