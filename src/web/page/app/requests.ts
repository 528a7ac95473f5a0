import type { ChangeReply, ErrorReply, PauseRequest } from '../../api-types.js';

const KEY = 'redsem-token';

/** Keeps the operator's token in this tab until it is closed, never in an address or a cookie. */
export function keepToken(token: string): void {
  sessionStorage.setItem(KEY, token);
}

export function hasToken(): boolean {
  return sessionStorage.getItem(KEY) !== null;
}

export function authorization(): Record<string, string> {
  const token = sessionStorage.getItem(KEY);
  return token === null ? {} : { authorization: `Bearer ${token}` };
}

/**
 * Asks the server for a change.
 * @returns false when the ticket was gone already
 * @throws {Error} with the server's reason
 */
export async function change(
  kind: 'limit' | 'pause' | 'revoke',
  request: PauseRequest & { limit?: number; ticketId?: string },
): Promise<boolean> {
  const response = await fetch(`api/${kind}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...authorization() },
    body: JSON.stringify(request),
  });
  if (response.ok) return ((await response.json()) as ChangeReply).changed;
  const reply = (await response.json().catch(() => undefined)) as ErrorReply | undefined;
  throw new Error(reply?.error ?? `The server replied with HTTP ${response.status}.`);
}
