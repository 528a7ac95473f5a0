import { subscribe, tracingChannel } from 'node:diagnostics_channel';

import { telemetry } from '../../src/telemetry.js';
import type { Connection } from './adapter.js';
import { connect as connectUnheard } from './redsem-node-redis.js';

let messages = 0;

function listen(): void {
  messages += 1;
}

/** A program that subscribes to every channel and ignores the messages. */
export async function connect(url: string): Promise<Connection> {
  tracingChannel('redsem:acquire').subscribe({
    start: listen,
    end: listen,
    asyncStart: listen,
    asyncEnd: listen,
    error: listen,
  });
  for (const name of Object.keys(telemetry)) {
    if (name !== 'acquire') subscribe(`redsem:${name}`, listen);
  }
  const connection = await connectUnheard(url);
  const release = await connection.acquire('heard', 1, 1000);
  await release();
  // Else the row would show what it costs when nobody listens.
  if (messages < 5) throw new Error(`only ${messages} messages of a pair were heard`);
  return connection;
}
