import { findServer, startServer } from '../test/support/redis-server.js';
import { askServer } from './ask-server.js';

export interface OpenBackend {
  /** Which backend and why, in one line. */
  readonly description: string;
  /** Undefined: the memory backend. */
  readonly redisUrl: string | undefined;
  /** Stops what was started for the demo. */
  readonly stop: () => Promise<void>;
}

const ANSWER_LIMIT = 2000;
const nothingToStop = (): Promise<void> => Promise.resolve();

/**
 * Finds a backend for the semaphore, and makes sure that it answers.
 * @throws when REDIS_SERVER names no program
 */
export async function openBackend(): Promise<OpenBackend> {
  const { REDIS_URL: url = '', REDIS_SERVER: program = '' } = process.env;
  if (url !== '') {
    const shown = withoutPassword(url);
    const name = await askServer(url, ANSWER_LIMIT).catch((error: unknown) => {
      throw new Error(`no answer from ${shown} (REDIS_URL): ${String(error)}`);
    });
    return { description: `${name} at ${shown} (REDIS_URL)`, redisUrl: url, stop: nothingToStop };
  }
  if (findServer() === undefined) {
    const description = 'memory, in one process (no REDIS_URL, no redis-server on PATH)';
    return { description, redisUrl: undefined, stop: nothingToStop };
  }
  const server = await startServer();
  const name = await askServer(server.url, ANSWER_LIMIT);
  const why = program === '' ? 'found on PATH' : 'REDIS_SERVER';
  const description = `${name} (${why}), started on 127.0.0.1:${server.port}`;
  return { description, redisUrl: server.url, stop: () => server.stop() };
}

function withoutPassword(text: string): string {
  const url = new URL(text);
  return `${url.protocol}//${url.host}${url.pathname === '/' ? '' : url.pathname}`;
}
