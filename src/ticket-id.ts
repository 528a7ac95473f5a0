import { randomBytes } from 'node:crypto';

/**
 * A ticket id is `client.number`, or `client.number.permits` for more than one permit. Redis's queue
 * holds ids alone, so the script that frees a permit reads off the id whom to tell and how many to give.
 */
const TICKET_ID = /^([\w-]+)\.[0-9a-z]+(?:\.([0-9]+))?$/;

/** A name for this process's requests on one backend: 72 random bits, so that no two ever collide. */
export function newClientId(): string {
  return randomBytes(9).toString('base64url');
}

export function ticketId(client: string, number: number, permits: number): string {
  const id = `${client}.${number.toString(36)}`;
  return permits === 1 ? id : `${id}.${permits}`;
}

export interface TicketIdParts {
  readonly client: string;
  readonly permits: number;
}

export function parseTicketId(id: string): TicketIdParts | undefined {
  const match = TICKET_ID.exec(id);
  if (match?.[1] === undefined) return undefined;
  return { client: match[1], permits: Number(match[2] ?? 1) };
}
