import type { ChangeReply, ErrorReply, PauseRequest } from '../../api-types.js';
import { authorization } from './token.js';

/**
 * Asks the server for a change.
 * @returns false when there was nothing to change any more
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
