import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server as HttpServer } from 'node:http';
import { isIP } from 'node:net';
import type { Arguments } from '../arguments.js';
import { fileOf, prefixOf, serverSettings } from '../server-options.js';
import { connect } from '../connect.js';
import { describe, EXIT, Failure, unexpected, UsageError, usageOf } from '../failure.js';
import { print } from '../output.js';

const DEFAULT_ADDRESS = '127.0.0.1:8321';

/** Only an attack needs more: a browser opens at most six for each page. */
const MOST_CONNECTIONS = 500;

export async function web(args: Arguments): Promise<void> {
  if (args.flag('actions') && args.flag('read-only')) {
    throw new UsageError('--read-only: expected without --actions');
  }
  const address = listenUrl('--listen', args.text('listen') ?? DEFAULT_ADDRESS);
  const given = givenToken(args);
  if (given === undefined && !isLoopback(address.hostname)) {
    throw new UsageError('--listen: expected a loopback address, or a token by --token-file');
  }
  // The address means all addresses of this machine: browsers need another name.
  if (/^[[\]0:.]+$/.test(address.hostname) && args.texts('host').length === 0) {
    throw new UsageError('--host: expected the name under which browsers reach it');
  }
  const token = given ?? randomBytes(24).toString('base64url');
  // Loaded before the server listens: a request that came meanwhile would get no answer. Not loaded
  // at the start of the program: the view is larger than all other commands.
  const { webView } = await import('../../web/index.js');
  const { toNodeListener } = await import('../../web/node.js');
  const redis = await connect(serverSettings(args));
  try {
    const { http, port } = await listen(address);
    try {
      const hosts = hostsOf(address, port, args);
      const options = { prefix: prefixOf(args), actions: args.flag('actions'), token, hosts };
      http.on('request', toNodeListener(usageOf(() => webView(redis.target, options))));
      const shownToken = given === undefined ? `token: ${token}\n` : '';
      await print(`http://${address.hostname}:${port}/\n${shownToken}`);
      await Promise.race(['SIGINT', 'SIGTERM'].map((signal) => once(process, signal)));
    } finally {
      http.close();
      http.closeAllConnections();
    }
  } finally {
    redis.disconnect();
  }
}

function givenToken(args: Arguments): string | undefined {
  const token = args.text('token');
  const file = fileOf(args, 'token-file');
  if (file !== undefined && token !== undefined) {
    throw new UsageError('--token: expected no --token-file');
  }
  return file === undefined ? token : (file.split(/\r?\n/)[0] ?? '');
}

/** All values of `Host` that the view serves: see `hosts` of `WebViewOptions`. */
function hostsOf({ hostname }: URL, port: number, args: Arguments): string[] {
  const own = isLoopback(hostname) ? ['127.0.0.1', 'localhost', '[::1]'] : [];
  const withPort = [...own, hostname].map((name) => (port === 80 ? name : `${name}:${port}`));
  return [...withPort, ...args.texts('host').flatMap((name) => [name, `${name}:${port}`])];
}

async function listen({ hostname, port }: URL): Promise<{ http: HttpServer; port: number }> {
  const http = createServer();
  http.maxConnections = MOST_CONNECTIONS;
  http.listen({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) });
  await once(http, 'listening').catch((error: unknown) => {
    throw new Failure(EXIT.unavailable, `cannot listen: ${describe(error)}`, error);
  });
  const bound = http.address();
  return { http, port: typeof bound === 'object' && bound !== null ? bound.port : 0 };
}

/**
 * The host and the port of `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080`. Port 0: any free port.
 * @throws {UsageError}
 */
function listenUrl(option: string, text: string): URL {
  const url = `tcp://${text}`;
  const isAddress = /^(?:\[[\da-f:]+\]|[\w.-]+):\d{1,5}$/i.test(text);
  if (isAddress && URL.canParse(url)) return new URL(url);
  throw unexpected(option, 'ADDRESS:PORT, such as 127.0.0.1:8080 or [::1]:8080', text);
}

/** Whether only this machine can reach it. */
function isLoopback(host: string): boolean {
  return ['localhost', '[::1]'].includes(host) || (isIP(host) === 4 && host.startsWith('127.'));
}
