import type { ErrorReply } from './api-types.js';

/** Headers of every answer. `no-store`: the numbers change, and the names are private. */
const COMMON: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/** An error that is the answer to a request, wherever it is thrown. */
export class Refusal extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.name = 'Refusal';
    this.status = status;
    this.headers = headers;
  }
}

export function answer(
  body: string | ReadableStream<Uint8Array> | null,
  contentType: string | undefined,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const type = contentType === undefined ? {} : { 'content-type': contentType };
  return new Response(body, { status, headers: { ...COMMON, ...type, ...headers } });
}

/** With two decimals at most. */
export function toJson(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) =>
    typeof each === 'number' && !Number.isInteger(each) ? Math.round(each * 100) / 100 : each,
  );
}

export function json(value: unknown, status = 200, headers = {}): Response {
  return answer(toJson(value), 'application/json; charset=utf-8', status, headers);
}

export function refused({ status, message, headers }: Refusal): Response {
  const reply: ErrorReply = { error: message };
  return json(reply, status, headers);
}
