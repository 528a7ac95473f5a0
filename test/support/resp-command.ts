import { Redis, ReplyError } from 'ioredis';

const PATIENCE = 10_000;

/** Whether it is an error reply of the server. */
export function isErrorReply(error: unknown): error is Error {
  return error instanceof ReplyError;
}

/** Sends one command over a separate connection and gives the reply; an error reply rejects. */
export async function sendRespCommand(
  port: number,
  [name = '', ...args]: readonly string[],
): Promise<unknown> {
  const client = new Redis(port, '127.0.0.1', {
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
    enableReadyCheck: false,
    disableClientInfo: true,
    connectTimeout: PATIENCE,
    commandTimeout: PATIENCE,
  });
  // The command fails with it.
  client.on('error', () => undefined);
  try {
    return await client.call(name, ...args);
  } finally {
    client.disconnect();
  }
}
