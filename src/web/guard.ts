import { createHash, timingSafeEqual } from 'node:crypto';
import { Refusal } from './answers.js';
import type { ResolvedView } from './options.js';

/**
 * Lets a request in.
 * @returns the response that `authorize` gave instead
 * @throws {Refusal} when the request is not let in
 */
export async function admit(request: Request, view: ResolvedView): Promise<Response | undefined> {
  const { hosts, authorize } = view;
  if (hosts !== undefined && !hosts.has(hostOf(request))) {
    throw new Refusal(421, 'this view is not served under that host');
  }
  // A program without types may give anything: only `true` lets a request in.
  const verdict: unknown = authorize === undefined ? true : await authorize(request);
  // A program may give one response for many requests, but a body can be read only once.
  if (verdict instanceof Response) return verdict.clone();
  if (verdict !== true) throw new Refusal(403, 'access denied');
  return undefined;
}

/**
 * For requests for data; the page itself holds no secret.
 * @throws {Refusal} without the right token
 */
export function checkBearer(request: Request, { token }: ResolvedView): void {
  if (token === undefined) return;
  const given = /^Bearer ([!-~]+)$/i.exec(request.headers.get('authorization') ?? '')?.[1];
  if (given !== undefined && timingSafeEqual(digest(given), digest(token))) return;
  throw new Refusal(401, 'a token is needed', { 'www-authenticate': 'Bearer' });
}

/**
 * A change must come from a page of this origin, as JSON, which no form of another site can send.
 * @throws {Refusal} for any other request
 */
export function checkChange(request: Request, { actions, origin }: ResolvedView): void {
  if (!actions) throw new Refusal(403, 'this view is read-only');
  const type = request.headers.get('content-type') ?? '';
  if (!/^application\/json(?:\s*;|$)/i.test(type)) {
    throw new Refusal(415, 'expected content-type application/json');
  }
  if (!isSameOrigin(request, origin))
    throw new Refusal(403, 'changes are made from the page itself');
}

/** Browsers send the origin of a request. A request without an origin is not from the page. */
function isSameOrigin(request: Request, own: string | undefined): boolean {
  const site = request.headers.get('sec-fetch-site');
  if (site !== null) return site === 'same-origin';
  const origin = request.headers.get('origin');
  if (origin === null || !URL.canParse(origin)) return false;
  return own === undefined ? new URL(origin).host === hostOf(request) : origin === own;
}

function hostOf(request: Request): string {
  return (request.headers.get('host') ?? new URL(request.url).host).toLowerCase();
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
