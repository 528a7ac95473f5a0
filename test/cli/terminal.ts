import { findExecutable } from '../support/find-executable.js';
import { noServer } from '../support/require-server.js';
import { startServer, type TestServer } from '../support/redis-server.js';
import { CliProcess, SHELL_FUNCTION } from './cli-process.js';

/** A shell script on a pseudo-terminal of 100 columns and 30 rows, in which `redsem` can be called; `type` presses keys. */
export function startOnTerminal(script: string, url: string): CliProcess {
  const line = `stty rows 30 cols 100; ${SHELL_FUNCTION}; ${script}`;
  const env = { TERM: 'xterm', SHELL: '/bin/sh' };
  return new CliProcess(['script', '-qec', line, '/dev/null'], { url, env });
}

/** A `describe` with a server and a pseudo-terminal; pending where `script` of util-linux is missing. */
export function describeOnTerminal(title: string, body: (server: () => TestServer) => void): void {
  const missing = noServer() ?? noTerminal();
  if (missing !== undefined) {
    describe.skip(`${title} (skipped: no ${missing} on this machine)`, () => body(unavailable));
    return;
  }
  describe(title, () => {
    let server: TestServer | undefined;
    before('start redis-server', async () => {
      server = await startServer();
    });
    after('stop redis-server', () => server?.stop());
    body(() => server ?? unavailable());
  });
}

function noTerminal(): string | undefined {
  const works = process.platform === 'linux' && findExecutable('script') !== undefined;
  return works ? undefined : 'script (util-linux)';
}

function unavailable(): never {
  throw new Error('there is a server only inside tests and hooks');
}
