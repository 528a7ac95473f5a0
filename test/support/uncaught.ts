import { setImmediate as turn } from 'node:timers/promises';

/** The uncaught exceptions while `body` runs; mocha's own listener is away meanwhile. */
export async function uncaughtDuring(body: () => Promise<void>): Promise<unknown[]> {
  const uncaught: unknown[] = [];
  const note = (error: unknown): void => void uncaught.push(error);
  const others = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', note);
  try {
    await body();
    await turn();
  } finally {
    process.off('uncaughtException', note);
    for (const other of others) process.on('uncaughtException', other);
  }
  return uncaught;
}
