import { findFakeTime, runsOnFakeClock } from './faketime.js';
import { findServer, type ServerOptions, startServer, type TestServer } from './redis-server.js';

type Body = (server: () => TestServer) => void;

/** A `describe` with a server of its own; its tests are pending where there is no server program. */
export function describeWithServer(title: string, body: Body, options: ServerOptions = {}): void {
  describeUnless(noServer(), title, body, options);
}

/** The same with a server whose clock `shiftClock` moves; pending where that cannot be, too. */
export function describeWithFakeClock(
  title: string,
  body: Body,
  options: ServerOptions = {},
): void {
  describeUnless(noServer() ?? noFakeClock(), title, body, { ...options, fakeClock: true });
}

function describeUnless(
  missing: string | undefined,
  title: string,
  body: Body,
  options: ServerOptions,
): void {
  if (missing === undefined) {
    describe(title, () => withServer(body, options));
  } else {
    describe.skip(`${title} (skipped: no ${missing} on this machine)`, () => body(unavailable));
  }
}

function withServer(body: Body, options: ServerOptions): void {
  let running: TestServer | undefined;
  before('start redis-server', async () => {
    running = await startServer(options);
  });
  after('stop redis-server', () => running?.stop());
  body(() => running ?? unavailable());
}

function unavailable(): TestServer {
  throw new Error('there is a server only inside tests and hooks');
}

export function noServer(): string | undefined {
  if (process.env['REDSEM_NO_SERVER'] !== undefined) return 'redis-server';
  // In CI a missing server is a failure: the `before` hook then says so.
  return findServer() === undefined && process.env['CI'] !== 'true' ? 'redis-server' : undefined;
}

export function noFakeTime(): string | undefined {
  const missing = process.env['REDSEM_NO_FAKETIME'] !== undefined || findFakeTime() === undefined;
  return missing ? 'libfaketime' : undefined;
}

/** The same, or a server that does not run with it. */
export function noFakeClock(): string | undefined {
  const server = findServer();
  if (server === undefined) return noFakeTime();
  return (
    noFakeTime() ?? (runsOnFakeClock(server) ? undefined : 'server that libfaketime works with')
  );
}
