import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import type { Arguments } from './arguments.js';
import { attempt, describe, unexpected, UsageError } from './failure.js';

/** In the order of preference: ioredis loads in a third of the time. */
export const CLIENT_PACKAGES = ['ioredis', 'redis'] as const;
export type ClientPackage = (typeof CLIENT_PACKAGES)[number];

export interface ServerSettings {
  readonly addresses: readonly [ServerAddress, ...ServerAddress[]];
  /** The contents of the files for TLS. */
  readonly tls: Pick<ConnectionOptions, 'ca' | 'cert' | 'key'> | undefined;
  readonly cluster: boolean;
  readonly client: ClientPackage | undefined;
}

export function serverSettings(args: Arguments): ServerSettings {
  const [first, ...others] = addressesOf(args);
  const cluster = args.flag('cluster');
  if (others.length > 0 && !cluster) {
    throw new UsageError('--url: expected once, except with --cluster');
  }
  if (cluster && [first, ...others].some(({ database }) => database !== 0)) {
    throw new UsageError('--cluster: expected no database in the URL: a cluster has only 0');
  }
  const [ca, cert, key] = ['cacert', 'cert', 'key'].map((option) => fileOf(args, option));
  const hasTls = args.flag('tls') || first.tls || (ca ?? cert ?? key) !== undefined;
  const tls = hasTls ? { ca, cert, key } : undefined;
  return { addresses: [first, ...others], tls, cluster, client: clientOf(args) };
}

export function prefixOf(args: Arguments): string {
  return args.text('prefix') ?? 'redsem';
}

function addressesOf(args: Arguments): [ServerAddress, ...ServerAddress[]] {
  const [first, ...others] = args.texts('url').map((url) => parseServerUrl('--url', url));
  if (first !== undefined) return [first, ...others];
  return [parseServerUrl('REDIS_URL', process.env['REDIS_URL'] || 'redis://127.0.0.1:6379')];
}

function clientOf(args: Arguments): ClientPackage | undefined {
  const name = args.text('client');
  const known = CLIENT_PACKAGES.find((each) => each === name);
  if (name === undefined || known !== undefined) return known;
  throw unexpected('--client', 'redis or ioredis', name);
}

/** The content of the file that an option names. */
export function fileOf(args: Arguments, option: string): string | undefined {
  const path = args.text(option);
  if (path === undefined) return undefined;
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new UsageError(`--${option}: ${describe(error)}`);
  }
}

export interface ServerAddress {
  readonly host: string;
  readonly port: number;
  /** The path of a Unix socket; host and port are then not used. */
  readonly path: string | undefined;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly database: number;
  readonly tls: boolean;
}

/** @param source named in errors; they never show the URL, because it may have a password */
export function parseServerUrl(source: string, text: string): ServerAddress {
  // A URL can have a user only with a host, and a socket has no host.
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

/** For messages, without password. */
export function showAddress({ host, port, path }: ServerAddress): string {
  if (path !== undefined) return path;
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** As a URL, without user and password. */
export function showUrl(address: ServerAddress): string {
  const scheme = address.path === undefined ? `redis${address.tls ? 's' : ''}` : 'unix';
  const database = address.database === 0 ? '' : `/${address.database}`;
  return `${scheme}://${showAddress(address)}${address.path === undefined ? database : ''}`;
}

function decode(source: string, text: string): string {
  const decoded = attempt(() => decodeURIComponent(text));
  if (decoded !== undefined) return decoded;
  throw new UsageError(`${source}: invalid percent-encoding; write a literal % as %25`);
}
