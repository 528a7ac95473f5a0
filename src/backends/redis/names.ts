import type { NamePage, SemaphoreKey } from '../backend.js';
import { LIST_PAGE } from '../protocol.js';
import { script } from './compose-script.js';
import type { RedisConnection } from './connection.js';
import { keysFor, nameOfTag } from './keys.js';
import { runScript } from './script-runner.js';
import { list, textOf, UnexpectedReplyError } from './wire-text.js';

const listNamesScript = script('list-names');
const noteStripesScript = script('note-stripes');

/**
 * A page of SCAN over one server, or over one master of a cluster after the other. A cursor is
 * `master cursor`. Names are between braces in the reply: `cursor}tag}tag…`.
 */
export async function listNames(
  connection: RedisConnection,
  prefix: string,
  cursor: string,
): Promise<NamePage> {
  const masters = (await connection.eachMaster?.()) ?? [connection];
  const [index = '0', from = '0'] = list(cursor, ' ');
  const master = masters[Number(index)];
  if (master === undefined) return { names: [], cursor: '' };
  const start = `${prefix}:`;
  const keys = connection.eachMaster === undefined ? [start] : [];
  const args = [from, String(LIST_PAGE), start];
  const text = await runScript(master, listNamesScript, keys, args, textOf).catch(withRight);
  const [next = '', ...tags] = text.split('}');
  if (!/^\d{1,20}$/.test(next)) throw new UnexpectedReplyError('list-names', text);
  const names = tags.flatMap((tag) => nameOfTag(tag) ?? []);
  if (next !== '0') return { names, cursor: `${index} ${next}` };
  const following = Number(index) + 1;
  return { names, cursor: following < masters.length ? `${following} 0` : '' };
}

/** Redis does not say which command of a script its user may not use. */
function withRight(error: unknown): never {
  if (!(error instanceof Error && error.message.includes('user executing the script'))) throw error;
  throw new Error(`NOPERM the user has no right to SCAN (${error.message})`, { cause: error });
}

/** Numbers with spaces between. Their key is not `info`: it is no semaphore. */
export async function noteStripes(
  connection: RedisConnection,
  key: SemaphoreKey,
  stripes: number,
): Promise<readonly number[]> {
  const keys = keysFor(key, ['stripes']);
  const text = await runScript(connection, noteStripesScript, keys, [String(stripes)], textOf);
  if (/^\d{1,15}(?: \d{1,15})*$/.test(text)) return text.split(' ').map(Number);
  throw new UnexpectedReplyError('note-stripes', text);
}
