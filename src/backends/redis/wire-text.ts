import { inspect } from 'node:util';
import { shown } from '../../arguments/shown.js';
import type { AdoptCall, Costs, PushedGrant, Rate, Ticket } from '../backend.js';
import { microseconds } from '../gcra.js';
import { MOST_PERMITS } from '../protocol.js';
import { parseTicketId } from '../ticket-id.js';

/**
 * The server's reply is none of the script's: another script, a proxy, or a client that converts
 * replies or mixes them up sent it.
 */
export class UnexpectedReplyError extends Error {
  constructor(script: string, reply: unknown) {
    super(
      `the script ${script} got an unexpected reply: ${shown(inspect(reply), 200)}; its keys are damaged, or it answers another call`,
    );
    this.name = 'UnexpectedReplyError';
  }
}

/** Scripts reply with texts; a client may be set to give Buffers for them. Others give ''. */
export function textOf(reply: unknown): string {
  if (typeof reply === 'string') return reply;
  return Buffer.isBuffer(reply) ? reply.toString() : '';
}

/** Scripts count in microseconds, for which a double has room to spare. */
export function milliseconds(text: string): number {
  return Number(text) / 1000;
}

/** A JSON list of texts that need no escapes: ids and tokens. */
export function listText(texts: readonly (string | number)[]): string {
  return texts.length === 0 ? '[]' : `["${texts.join('","')}"]`;
}

/** The last moment at which a call may act. Scripts compare it as text, with the server's time. */
export function latestText(notAfter: number | undefined): string {
  return notAfter === undefined ? '' : String(microseconds(notAfter)).padStart(16, '0');
}

/** What a call says of the tickets that it grants. */
export function lifeOf(call: Pick<AdoptCall, 'limit' | 'ttl' | 'label' | 'notAfter'>): string[] {
  const life = String(microseconds(call.ttl));
  return [String(call.limit), life, encodeURIComponent(call.label), latestText(call.notAfter)];
}

/** `permits,period,burst`, the period in microseconds. */
export function rateText({ permits, per, burst }: Rate): string {
  return `${permits},${microseconds(per)},${burst}`;
}

/** `tokens:4000&…`. */
export function costsText(costs: Costs): string {
  const parts = Object.entries(costs).map(([name, units]) => `${name}:${units}`);
  return parts.join('&');
}

export function list(text: string, between = ';'): string[] {
  return text === '' ? [] : text.split(between);
}

export const TIME: RegExp = /^\d{1,16}$/;

/** `slots token`. */
export function ticketOf(text: string): Ticket | undefined {
  const space = text.indexOf(' ');
  const fencingToken = Number(text.slice(space + 1));
  const slots = slotsOf(text.slice(0, Math.max(0, space)));
  return slots && Number.isSafeInteger(fencingToken) ? { fencingToken, slots } : undefined;
}

/** `0,3,7-9`: single slots and ranges. */
export function slotsOf(text: string, most: number = MOST_PERMITS): number[] | undefined {
  if (/^\d{1,15}$/.test(text)) return [Number(text)];
  if (!/^\d{1,15}(?:[,-]\d{1,15})*$/.test(text)) return undefined;
  const slots: number[] = [];
  for (const range of text.split(',')) {
    const [from = 0, to = from] = range.split('-').map(Number);
    if (to < from || slots.length + to - from >= most) return undefined;
    for (let slot = from; slot <= to; slot++) slots.push(slot);
  }
  return slots;
}

const GRANT = /^(\S+) (\d{1,15}(?:[,-]\d{1,15})*) (\d{1,16}) (\d{1,16})$/;

/**
 * `id slots token expiry`, in a reply or in a message, which any client may send: other lines give
 * nothing. Slots are read when they are asked for, and no more than the id has permits: a few
 * characters can stand for millions.
 */
export function grantsOf(line: string): PushedGrant[] {
  const [, id = '', slotText = '', token, expiry = ''] = GRANT.exec(line) ?? [];
  const permits = parseTicketId(id)?.permits;
  const fencingToken = Number(token);
  if (permits === undefined || !Number.isSafeInteger(fencingToken)) return [];
  const grant = {
    id,
    fencingToken,
    expiresAt: milliseconds(expiry),
    get slots() {
      return slotsOf(slotText, permits) ?? [];
    },
  };
  return [grant];
}
