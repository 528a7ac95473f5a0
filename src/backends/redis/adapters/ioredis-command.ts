import type { RedisConnection } from '../connection.js';
import { hasMethods } from './shape.js';

/** What is used of a command of `ioredis` (5, 6). */
interface Command {
  args: readonly string[];
  readonly constructor: new (name: string, words: string[], options: object) => Command;
  toWritable(): unknown;
}

/** What is used of a single `ioredis` client (5, 6) to send a command that was made here. */
interface Sender {
  sendCommand(command: Command): Promise<unknown>;
  evalsha(this: { sendCommand(command: Command): object }, sha1: string, keyCount: number): object;
  readonly options?: Readonly<Record<string, unknown>>;
}

/** With each of them ioredis does more for a command than to write its words. */
const OPTIONS = ['keyPrefix', 'enableAutoPipelining', 'showFriendlyErrorStack'];

/** How a word of that many bytes begins: a new text for each word would cost more. */
const LENGTHS = Array.from({ length: 128 }, (_, bytes) => `$${bytes}`);

const NO_WORDS: string[] = [];
const TEXT_REPLY = { replyEncoding: 'utf8' };

/**
 * EVALSHA with less time and memory than ioredis needs: it copies the words of a command, looks for
 * lists among them, and joins each in five steps. Undefined for a client that does more for a
 * command, or whose commands are not known.
 */
export function evalshaOf(client: object): RedisConnection['runBySha'] | undefined {
  if (!hasMethods<Sender>(client, 'sendCommand', 'evalsha')) return undefined;
  const { options } = client;
  if (options === undefined || OPTIONS.some((option) => Boolean(options[option]))) return undefined;
  // A client does not name the class of its commands: this command is made and not sent.
  const made = client.evalsha.call({ options: {}, sendCommand: (command) => command }, '', 0);
  if (!hasMethods<Command>(made, 'toWritable')) return undefined;
  const { constructor: Base } = made;
  class Evalsha extends Base {
    override toWritable(): string {
      return writable(this.args);
    }
  }
  return (sha1, keys, args) => {
    const command = new Evalsha('evalsha', NO_WORDS, TEXT_REPLY);
    command.args = [sha1, String(keys.length)].concat(keys, args);
    return client.sendCommand(command);
  };
}

function writable(words: readonly string[]): string {
  // Of its full length at once: a list that grows is copied.
  const lines = Array<string>(2 * words.length + 2);
  lines[0] = `*${words.length + 1}\r\n$7\r\nevalsha`;
  let at = 1;
  for (const word of words) {
    const bytes = Buffer.byteLength(word);
    lines[at++] = LENGTHS[bytes] ?? `$${bytes}`;
    lines[at++] = word;
  }
  lines[at] = '';
  return lines.join('\r\n');
}
