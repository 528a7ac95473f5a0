import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { findExecutable } from './find-executable.js';
import { pickLoopbackPort } from './loopback-port.js';
import { findServer, startServer, type TestServer } from './redis-server.js';
import { makeTemporaryFolder, removeTemporaryFolder } from './temporary-folder.js';

/** What a client needs to trust the server and to be trusted by it. */
export interface TlsFiles {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** A server that speaks TLS on a port of its own, beside the plain port of the tests; clients must show a certificate. */
export class TlsServer {
  readonly server: TestServer;
  readonly port: number;
  readonly tls: TlsFiles;
  readonly #directory: string;

  constructor(server: TestServer, port: number, tls: TlsFiles, directory: string) {
    this.server = server;
    this.port = port;
    this.tls = tls;
    this.#directory = directory;
  }

  async stop(): Promise<void> {
    await this.server.stop();
    await removeTemporaryFolder(this.#directory);
  }
}

/** What is missing here for TLS: the openssl program, or a server that was built with it. */
export function noTls(): string | undefined {
  if (findExecutable('openssl') === undefined) return 'openssl';
  const args = ['--port', '0', '--tls-port', '1', '--tls-cert-file', '/nowhere'];
  // With TLS it misses the file; without, it does not know the option.
  const { stdout } = spawnSync(findServer() ?? '', args, { encoding: 'utf8' });
  return /Failed to (?:configure TLS|load certificate)/.test(stdout)
    ? undefined
    : 'redis-server with TLS';
}

export async function startTlsServer(): Promise<TlsServer> {
  const directory = makeTemporaryFolder();
  try {
    makeAuthority(directory);
    makeCertificate(directory, 'server');
    makeCertificate(directory, 'client');
    const port = await pickLoopbackPort();
    const server = await startServer({
      args: [
        '--tls-port',
        String(port),
        '--tls-ca-cert-file',
        join(directory, 'ca.crt'),
        '--tls-cert-file',
        join(directory, 'server.crt'),
        '--tls-key-file',
        join(directory, 'server.key'),
      ],
    });
    const read = (name: string): string => readFileSync(join(directory, name), 'utf8');
    const tls = { ca: read('ca.crt'), cert: read('client.crt'), key: read('client.key') };
    return new TlsServer(server, port, tls, directory);
  } catch (error) {
    await removeTemporaryFolder(directory);
    throw error;
  }
}

function makeAuthority(directory: string): void {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const files = ['-keyout', 'ca.key', '-out', 'ca.crt'];
  openssl(directory, ['req', '-x509', ...key, ...files, '-days', '1', '-subj', '/CN=test CA']);
}

/** Signed by the authority, for 127.0.0.1. */
function makeCertificate(directory: string, name: string): void {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const request = ['-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`];
  openssl(directory, ['req', ...key, ...request]);
  writeFileSync(join(directory, 'names'), 'subjectAltName=IP:127.0.0.1,DNS:localhost\n');
  const authority = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial'];
  const files = ['-in', `${name}.csr`, '-out', `${name}.crt`, '-extfile', 'names'];
  openssl(directory, ['x509', '-req', ...authority, ...files, '-days', '1']);
}

function openssl(directory: string, args: readonly string[]): void {
  const { status, stderr } = spawnSync('openssl', args, { cwd: directory, encoding: 'utf8' });
  if (status !== 0) throw new Error(`openssl ${args[0] ?? ''} failed: ${stderr}`);
}
