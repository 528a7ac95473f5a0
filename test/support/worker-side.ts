import type { Message } from './worker-process.js';

/**
 * The `args` given to `startWorker`; `byHand` where the file was started by hand, without a test.
 */
export function workerArguments<T>(byHand?: T): T {
  const given = process.env['REDSEM_WORKER_ARGUMENTS'];
  if (given !== undefined) return JSON.parse(given) as T;
  if (byHand === undefined)
    throw new Error('this worker wants arguments: start it with startWorker');
  return byHand;
}

/** Sends a message to the test, which reads it with `worker.next(type)`. */
export function report(type: string, data?: unknown): void {
  process.send?.({ type, data });
}

/** Calls `listener` for every message of that type from the test; keeps the worker running. */
export function onMessage(type: string, listener: (data: unknown) => void): void {
  process.on('message', (message: Message) => {
    if (message.type === type) listener(message.data);
  });
  process.channel?.ref();
}

// A worker is nothing without its test. The channel alone must not keep it running, though: some
// tests prove that a process ends by itself.
process.on('disconnect', () => process.exit());
process.channel?.unref();
