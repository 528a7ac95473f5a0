import type { NamePage } from '../backend.js';
import { LIST_PAGE } from '../protocol.js';
import type { RedisConnection } from './connection.js';
import { keysStart, nameOfTag } from './keys.js';
import { UnexpectedReplyError } from './replies.js';
import { runScript } from './script-runner.js';
import { listNamesScript } from './scripts.js';

/**
 * A page of SCAN over one server, or over one master of a cluster after the other: a cursor is
 * `master cursor` there.
 */
export async function namePage(
  connection: RedisConnection,
  prefix: string,
  cursor: string,
): Promise<NamePage> {
  const start = keysStart(prefix);
  if (connection.eachMaster === undefined) {
    const page = await scan(connection, [start], [cursor || '0', String(LIST_PAGE)]);
    return { names: page.names, cursor: page.next === '0' ? '' : page.next };
  }
  const masters = await connection.eachMaster();
  const [place = 0, from = '0'] = cursor.split(' ');
  const master = masters[Number(place)];
  if (master === undefined) return { names: [], cursor: '' };
  const page = await scan(master, [], [from, String(LIST_PAGE), start]);
  const isDone = page.next === '0';
  return { names: page.names, cursor: isDone ? `${Number(place) + 1} 0` : `${place} ${page.next}` };
}

async function scan(
  connection: RedisConnection,
  keys: readonly string[],
  args: readonly string[],
): Promise<{ next: string; names: string[] }> {
  const reply = await runScript(connection, listNamesScript, keys, args).catch(rethrowNamed);
  const [next = '', ...tags] = typeof reply === 'string' ? reply.split('}') : [];
  if (!/^\d{1,20}$/.test(next)) throw new UnexpectedReplyError('list-names', reply);
  return { next, names: tags.flatMap((tag) => nameOfTag(tag) ?? []) };
}

/** Redis does not say which command of a script its user may not use. */
function rethrowNamed(error: unknown): never {
  if (!(error instanceof Error && error.message.includes('user executing the script'))) throw error;
  throw new Error(`NOPERM the user has no right to SCAN (${error.message})`, { cause: error });
}
