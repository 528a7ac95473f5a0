import type { NamePage, SemaphoreKey } from '../backend.js';
import { LIST_PAGE } from '../protocol.js';
import { script } from './compose-script.js';
import type { RedisConnection } from './connection.js';
import { keysFor, nameOfTag } from './keys.js';
import { runScript } from './script-runner.js';
import { textOf, UnexpectedReplyError } from './wire-text.js';

const listNamesScript = script('list-names');
const noteStripesScript = script('note-stripes');

/**
 * A page of SCAN over one server, or over one master of a cluster after the other: a cursor is
 * `master cursor` there.
 */
export async function listNames(
  connection: RedisConnection,
  prefix: string,
  cursor: string,
): Promise<NamePage> {
  const [start, count] = [`${prefix}:`, String(LIST_PAGE)];
  if (connection.eachMaster === undefined) {
    const { names, next } = await scan(connection, [start], [cursor || '0', count]);
    return { names, cursor: next === '0' ? '' : next };
  }
  const [index = 0, from = '0'] = cursor.split(' ');
  const master = (await connection.eachMaster())[Number(index)];
  if (master === undefined) return { names: [], cursor: '' };
  const { names, next } = await scan(master, [], [from, count, start]);
  return { names, cursor: next === '0' ? `${Number(index) + 1} 0` : `${index} ${next}` };
}

/** Names are between braces: `cursor}tag}tag…`. */
async function scan(connection: RedisConnection, keys: string[], args: string[]) {
  const text = await runScript(connection, listNamesScript, keys, args, textOf).catch(withRight);
  const [next = '', ...tags] = text.split('}');
  if (!/^\d{1,20}$/.test(next)) throw new UnexpectedReplyError('list-names', text);
  return { next, names: tags.flatMap((tag) => nameOfTag(tag) ?? []) };
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
