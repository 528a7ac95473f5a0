import { randomBytes } from 'node:crypto';
import { checkType } from '../arguments/validation.js';

/**
 * A ticket id is `client.number`, or `client.number.permits` for more than one permit. Redis's
 * queue holds ids alone, so the script that frees a permit reads from the id whom to notify and how
 * many permits to grant. That of an adopted ticket ends in `~` and its first id.
 */
const TICKET_ID = /^([\w-]+)\.([0-9a-z]+)(?:\.([0-9]+))?(?:~([\w-]+\.[0-9a-z.]+))?$/;

/**
 * A name for this process's requests on one backend: nearly 72 random bits, so that no two ever
 * collide. `random`: where they come from, if not from Node's own source.
 */
export function newClientId(random: () => number = () => randomBytes(1).readUInt8() / 256): string {
  const bytes = Buffer.from(Array.from({ length: 9 }, () => Math.floor(random() * 256)));
  // Operators give ids to commands, which take for an option what begins with '-'.
  return bytes.toString('base64url').replace(/^-/, '_');
}

export function ticketId(client: string, number: number, permits: number): string {
  const id = `${client}.${number.toString(36)}`;
  return permits === 1 ? id : `${id}.${permits}`;
}

/** The id of a ticket that is presented as `id`, once it is adopted under the fresh id `own`. */
export function adoptedId(own: string, id: string): string {
  return `${own}~${firstId(id)}`;
}

/** The id that a ticket had at its grant, before it was adopted. */
export function firstId(id: string): string {
  return id.slice(id.indexOf('~') + 1);
}

export function parseTicketId(
  id: string,
): { client: string; number: number; permits: number } | undefined {
  const match = TICKET_ID.exec(id);
  if (match?.[1] === undefined) return undefined;
  return { client: match[1], number: parseInt(match[2] ?? '', 36), permits: Number(match[3] ?? 1) };
}

/** @throws {TypeError} when it cannot be the id of a ticket */
export function checkTicketId(id: unknown, option = 'ticketId'): void {
  const fits = typeof id === 'string' && parseTicketId(id) !== undefined;
  checkType(fits, option, 'the id of a ticket', id);
}
