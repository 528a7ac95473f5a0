import { askServer } from './ask-server.js';
import { chooseBackend } from './find-redis.js';
import { startOwnServer } from './own-redis-server.js';

export interface OpenBackend {
  /** Which and why, in one line. */
  readonly description: string;
  /** Undefined: the memory backend. */
  readonly redisUrl: string | undefined;
  /** Stops what was started for the demo. */
  readonly stop: () => Promise<void>;
}

const ANSWER_LIMIT = 2000;
const nothingToStop = (): Promise<void> => Promise.resolve();

/** Finds out where the semaphore will live and makes sure that it answers there. */
export async function openBackend(folder: string): Promise<OpenBackend> {
  const choice = chooseBackend(process.env);
  if (choice.kind === 'memory') {
    const description = `memory, in one process (${choice.why})`;
    return { description, redisUrl: undefined, stop: nothingToStop };
  }
  if (choice.kind === 'url') {
    const shown = withoutPassword(choice.url);
    const { name } = await askServer(choice.url, ANSWER_LIMIT).catch((error: unknown) => {
      throw new Error(`no answer from ${shown} (REDIS_URL): ${String(error)}`);
    });
    const description = `${name} at ${shown} (REDIS_URL)`;
    return { description, redisUrl: choice.url, stop: nothingToStop };
  }
  const { url, name, stop } = await startOwnServer(choice.path, folder);
  const place = url.replace('redis://', '');
  return { description: `${name} (${choice.why}), started on ${place}`, redisUrl: url, stop };
}

function withoutPassword(text: string): string {
  const url = new URL(text);
  return `${url.protocol}//${url.host}${url.pathname === '/' ? '' : url.pathname}`;
}
