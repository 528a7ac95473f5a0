import { expect } from 'chai';
import { createClient } from 'redis';

import { noServer } from '../../test/support/require-server.js';
import { noTls, startTlsServer, type TlsServer } from '../../test/support/tls-server.js';
import { acquireCases } from '../../test/conformance/cases/acquire-cases.js';
import { lossCases } from '../../test/conformance/cases/loss-cases.js';
import { permitCases } from '../../test/conformance/cases/permit-cases.js';
import { waitingCases } from '../../test/conformance/cases/waiting-cases.js';
import { reasonOf } from '../../test/support/rejection.js';
import { secure, securedRows } from './rows/secured-rows.js';
import { realPassage as passage } from './real-passage.js';
import { semaphoreSuite } from '../../test/conformance/semaphore-suite.js';

const missing = noServer() ?? noTls();
const title = 'conformance on a server with TLS and passwords';

if (missing === undefined) describe(title, defineSuite);
else describe.skip(`${title} (skipped: no ${missing} on this machine)`, defineSuite);

function defineSuite(): void {
  let running: TlsServer | undefined;
  const tls = (): TlsServer => {
    if (running === undefined) throw new Error('there is a server only inside tests and hooks');
    return running;
  };

  before('start redis-server', async () => {
    running = await startTlsServer();
    await secure(running);
  });
  after('stop redis-server', () => running?.stop());

  it('is refused without the certificate or the password', async () => {
    const { port, tls: files } = tls();
    const { ca } = files;
    const base = { host: '127.0.0.1', port, tls: true as const, reconnectStrategy: false as const };
    const stranger = createClient({ socket: { ...base, ca } }).on('error', () => {});
    const nameless = createClient({ socket: { ...base, ...files } }).on('error', () => {});
    expect(String(await reasonOf(stranger.connect()))).to.match(/socket|certificate/i);
    expect(String(await reasonOf(nameless.connect()))).to.include('NOAUTH');
  });

  for (const row of securedRows(tls)) {
    semaphoreSuite(row, {
      groups: [acquireCases, waitingCases, permitCases, lossCases],
      passage,
    });
  }
}
