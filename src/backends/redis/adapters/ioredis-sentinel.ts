import type { Leader } from './moving-subscription.js';
import { hasMethods } from './shape.js';

/** What is used of an `ioredis` client (5, 6) that sentinels lead, beyond its commands. */
export interface SentinelLed extends Leader {
  connect(): Promise<unknown>;
  readonly status?: string;
  readonly options?: { readonly sentinels?: unknown; readonly failoverDetector?: unknown };
}

/**
 * ioredis ends for good when its failover detector hears of a new master at the very moment in
 * which it asks the sentinels for a master: of many processes a few would stay without a connection
 * after a failover. The application has not closed such a client, so redsem connects it again;
 * once, until that has succeeded, because its own options may have made it give up.
 * @returns whether it has ended and will be connected again
 */
export function revived(client: SentinelLed): () => boolean {
  let isConnecting = client.status === 'connecting';
  let isTried = false;
  // Its owner may have closed it while it was asking.
  const isPending = (): boolean =>
    isConnecting && !isTried && Reflect.get(client, 'manuallyClosing') !== true;
  client.on('connecting', () => (isConnecting = true));
  // A connection that breaks, or that its owner closes, is closed before it has ended.
  for (const event of ['connect', 'close']) client.on(event, () => (isConnecting = false));
  client.on('ready', () => (isTried = false));
  client.on('end', () =>
    // Not at once: a listener of the application comes first.
    setImmediate(() => {
      if (client.status !== 'end' || !isPending()) return;
      isTried = true;
      client.connect().catch(() => undefined);
    }),
  );
  return isPending;
}

export function detectsFailover(client: object): client is SentinelLed {
  if (!hasMethods<SentinelLed>(client, 'on', 'removeListener', 'connect')) return false;
  const { options } = client;
  return Array.isArray(options?.sentinels) && options.failoverDetector === true;
}
