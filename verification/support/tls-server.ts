import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { findExecutable } from '../../test/support/find-executable.js';
import { pickLoopbackPort } from '../../test/support/loopback-port.js';
import { findServer, startServer } from '../../test/support/redis-server.js';
import { makeTemporaryFolder } from '../../test/support/temporary-folder.js';

/** The program that this machine lacks for TLS: openssl, or a server that was built with it. */
export function noTls(): string | undefined {
  if (findExecutable('openssl') === undefined) return 'openssl';
  const args = ['--port', '0', '--tls-port', '1', '--tls-cert-file', '/nowhere'];
  // With TLS it misses the file; without, it does not know the option.
  const { stdout } = spawnSync(findServer() ?? '', args, { encoding: 'utf8' });
  const hasTls = /Failed to (?:configure TLS|load certificate)/.test(stdout);
  return hasTls ? undefined : 'redis-server with TLS';
}

/**
 * A server that speaks TLS on a separate port, beside the plain port of the tests; clients must
 * show a certificate. `files`: where that is by which a client trusts the server and is trusted.
 */
export async function startTlsServer() {
  const folder = makeTemporaryFolder();
  const own = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes';
  openssl(folder, `req -x509 ${own} -keyout ca.key -out ca.crt -days 1 -subj /CN=ca`);
  writeFileSync(join(folder, 'names'), 'subjectAltName=IP:127.0.0.1,DNS:localhost\n');
  const signed = '-CA ca.crt -CAkey ca.key -CAcreateserial -extfile names -days 1';
  for (const name of ['server', 'client']) {
    openssl(folder, `req ${own} -keyout ${name}.key -out ${name}.csr -subj /CN=${name}`);
    openssl(folder, `x509 -req -in ${name}.csr -out ${name}.crt ${signed}`);
  }
  const port = await pickLoopbackPort();
  const path = (name: string): string => join(folder, name);
  const args = ['--tls-port', String(port), '--tls-ca-cert-file', path('ca.crt')];
  args.push('--tls-cert-file', path('server.crt'), '--tls-key-file', path('server.key'));
  const server = await startServer({ args });
  const files = { ca: path('ca.crt'), cert: path('client.crt'), key: path('client.key') };
  return { server, port, files, stop: () => server.stop() };
}

function openssl(cwd: string, words: string): void {
  const { status, stderr } = spawnSync('openssl', words.split(' '), { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`openssl ${words} failed: ${stderr}`);
}
