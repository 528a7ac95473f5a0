import { isIP } from 'node:net';
import { quoted } from '../arguments/shown.js';
import { UsageError } from './failure.js';

/** Where a server listens. */
export interface ListenAddress {
  /** An IP address, or a name of this machine. */
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
}

/**
 * `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080`.
 * @throws {UsageError}
 */
export function parseListenAddress(option: string, text: string): ListenAddress {
  const [, inBrackets, plain, digits = ''] =
    /^(?:\[([\da-f:]+)\]|([\w.-]+)):(\d{1,5})$/i.exec(text) ?? [];
  const host = inBrackets ?? plain;
  const port = Number(digits);
  const isRight = host !== undefined && port <= 65_535;
  if (isRight && (inBrackets === undefined || isIP(inBrackets) === 6)) return { host, port };
  throw new UsageError(
    `${option}: expected ADDRESS:PORT, such as 127.0.0.1:8080 or [::1]:8080, got ${quoted(text)}`,
  );
}

/** Whether only this machine can reach it. */
export function isLoopback({ host }: ListenAddress): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/** Whether it is every address of this machine, and so no name for it. */
export function isWildcard({ host }: ListenAddress): boolean {
  return /^[0:.]+$/.test(host);
}

/** As it is written in a URL. */
export function showHost(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host;
}
