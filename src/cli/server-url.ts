import { UsageError } from './failure.js';

export interface ServerAddress {
  readonly host: string;
  readonly port: number;
  /** Of a Unix socket; then host and port mean nothing. */
  readonly path: string | undefined;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly database: number;
  readonly tls: boolean;
}

/** @param source named in errors, which never show the URL itself: it may have a password */
export function parseServerUrl(source: string, text: string): ServerAddress {
  // A URL has no name and password without a host; a socket has no host.
  const full = text.replace(/^(unix:\/\/[^/?#]*@)(?=\/)/, '$1localhost');
  const url = URL.canParse(full) ? new URL(full) : undefined;
  if (url === undefined || !['redis:', 'rediss:', 'unix:'].includes(url.protocol)) {
    throw new UsageError(`${source}: expected redis://, rediss:// or unix:// and an address`);
  }
  const isSocket = url.protocol === 'unix:';
  const path = isSocket ? decode(source, url.pathname) : undefined;
  const inPath = isSocket ? '' : url.pathname.slice(1);
  const database = inPath || (url.searchParams.get('db') ?? '');
  if (path === '' || !/^\d*$/.test(database)) {
    throw new UsageError(`${source}: expected the number of a database after the last slash`);
  }
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1') || '127.0.0.1',
    port: Number(url.port || 6379),
    path,
    username: decode(source, url.username) || undefined,
    password: decode(source, url.password) || undefined,
    database: Number(database),
    tls: url.protocol === 'rediss:',
  };
}

/** For messages: without password. */
export function showAddress({ host, port, path }: ServerAddress): string {
  if (path !== undefined) return path;
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** As a URL, without name and password. */
export function showUrl(address: ServerAddress): string {
  const scheme = address.path === undefined ? `redis${address.tls ? 's' : ''}` : 'unix';
  const database = address.database === 0 ? '' : `/${address.database}`;
  return `${scheme}://${showAddress(address)}${address.path === undefined ? database : ''}`;
}

function decode(source: string, text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new UsageError(`${source}: expected %25 in place of a % that begins no escape`);
  }
}
