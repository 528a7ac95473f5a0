import { findFakeTime, runsOnFakeClock } from './faketime.js';
import { findServer, type ServerOptions, startServer, type TestServer } from './redis-server.js';

interface Stoppable {
  stop(): Promise<unknown>;
}

/**
 * A `describe` with its own resource that is started and stopped; pending, with the reason, where
 * `missing` names one.
 */
export function describeStarted<T extends Stoppable>(
  title: string,
  missing: string | undefined,
  start: () => Promise<T>,
  body: (started: () => T) => void,
): void {
  let running: T | undefined;
  const started = (): T => {
    if (running === undefined) throw new Error('there is a server only inside tests and hooks');
    return running;
  };
  if (missing !== undefined) {
    describe.skip(`${title} (skipped: no ${missing} on this machine)`, () => body(started));
    return;
  }
  describe(title, () => {
    before('start what it needs', async () => {
      running = await start();
    });
    after('stop what it needed', () => running?.stop());
    body(started);
  });
}

type Body = (server: () => TestServer) => void;

/** A `describe` with its own server; its tests are pending where there is no server program. */
export function describeWithServer(title: string, body: Body, options: ServerOptions = {}): void {
  describeStarted(title, noServer(), () => startServer(options), body);
}

/** The same with a server whose clock `shiftClock` moves; pending where that cannot be, too. */
export function describeWithFakeClock(title: string, body: Body): void {
  const start = () => startServer({ fakeClock: true });
  describeStarted(title, noServer() ?? noFakeClock(), start, body);
}

export function noServer(): string | undefined {
  if (process.env['REDSEM_NO_SERVER'] !== undefined) return 'redis-server';
  // In CI a missing server is a failure: the `before` hook then says so.
  return findServer() === undefined && process.env['CI'] !== 'true' ? 'redis-server' : undefined;
}

/** libfaketime, or a server that runs with it. */
export function noFakeClock(): string | undefined {
  const isTold = process.env['REDSEM_NO_FAKETIME'] !== undefined;
  if (isTold || findFakeTime() === undefined) return 'libfaketime';
  const server = findServer() ?? '';
  return server === '' || runsOnFakeClock(server) ? undefined : 'server for libfaketime';
}
