import type { Backend } from '../backends/backend.js';
import { checkTicketId } from '../backends/ticket-id.js';
import type { RedisTarget } from '../clients.js';
import { checkName, integer } from '../arguments/validation.js';
import type { SemaphoreOptions } from '../options.js';
import { Semaphore } from '../semaphore.js';
import { Refusal } from './answers.js';
import type { ChangeReply } from './api-types.js';

/** In bytes: JSON escapes can expand a name of 512 bytes six-fold. */
const LONGEST_BODY = 4096;

type Target = RedisTarget | Backend;
type Options = Pick<SemaphoreOptions, 'prefix' | 'clock'>;
type Body = Readonly<Record<string, unknown>>;

/** The changes, by the last segment of the path of a `POST`. */
export const CHANGES: ReadonlyMap<
  string,
  (semaphore: Semaphore, body: Body) => Promise<ChangeReply>
> = new Map([
  ['limit', async (semaphore, { limit }) => setLimit(semaphore, integer('limit', limit, 0))],
  ['pause', async (semaphore) => setLimit(semaphore, 0)],
  [
    'revoke',
    async (semaphore, { ticketId }) => {
      if (typeof ticketId !== 'string') throw new Refusal(400, 'ticketId: expected a string');
      checkTicketId(ticketId);
      return { changed: await semaphore.revoke(ticketId) };
    },
  ],
]);

async function setLimit(semaphore: Semaphore, limit: number): Promise<ChangeReply> {
  await semaphore.setLimit(limit);
  return { changed: true };
}

/**
 * Makes the change that a request asks for.
 * @throws {Refusal}
 */
export async function makeChange(
  kind: string,
  request: Request,
  target: Target,
  options: Options,
): Promise<ChangeReply> {
  const change = CHANGES.get(kind);
  if (change === undefined) throw new Refusal(404, 'no such change');
  const body = await bodyOf(request);
  try {
    const name = checkName(body['name']);
    await using semaphore = await withKnownLimit(target, name, options);
    return await change(semaphore, body);
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError) {
      throw new Refusal(400, error.message);
    }
    throw error;
  }
}

/** With the limit that other processes use: no process sees a mismatch, and waiters get permits. */
async function withKnownLimit(target: Target, name: string, options: Options): Promise<Semaphore> {
  await using asker = new Semaphore(target, name, { limit: 1, ...options });
  const { limit } = await asker.inspect();
  return new Semaphore(target, name, { limit: Math.max(1, limit), ...options });
}

async function bodyOf(request: Request): Promise<Body> {
  let value: unknown;
  try {
    value = JSON.parse(await textOf(request));
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal(400, 'expected a body of JSON');
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw new Refusal(400, 'expected a JSON object');
}

/** Reads no more than a body may have: the announced length may be wrong or missing. */
async function textOf({ body }: Request): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  const stream: AsyncIterable<Uint8Array> | null = body;
  for await (const chunk of stream ?? []) {
    length += chunk.byteLength;
    if (length > LONGEST_BODY) {
      throw new Refusal(413, `expected a body of at most ${LONGEST_BODY} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
