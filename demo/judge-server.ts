import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';

import { Judge, type Visit } from './judge.js';

/** Milliseconds that an answer takes, at least and at most. */
const [FASTEST, SLOWEST] = [150, 300];

/** The HTTP server that must never have more requests in flight than the limit. */
export class JudgeServer {
  readonly judge: Judge;
  readonly #server: Server;
  readonly #answers = new Map<Visit, NodeJS.Timeout>();
  readonly #arrivalListeners = new Set<(visit: Visit) => void>();

  static async start(allowed: number): Promise<JudgeServer> {
    const started = new JudgeServer(allowed);
    await once(started.#server.listen(0, '127.0.0.1'), 'listening');
    return started;
  }

  private constructor(allowed: number) {
    this.judge = new Judge(allowed);
    this.#server = createServer((request, response) => this.#serve(request, response));
    // A worker may wait longer between two requests than the default of 5 s.
    this.#server.keepAliveTimeout = 60_000;
  }

  get url(): string {
    const address = this.#server.address();
    if (typeof address !== 'object') throw new Error('listening, but on no port');
    return `http://127.0.0.1:${address?.port}`;
  }

  /** Never answers the newest request in flight: its worker then holds its permit for certain. */
  withholdNewest(): Visit | undefined {
    const newest = this.judge.inFlight.at(-1);
    if (newest !== undefined) clearTimeout(this.#answers.get(newest));
    return newest;
  }

  /**
   * Resolves with true when the next request with that slot arrives, with false after the given
   * number of milliseconds.
   */
  nextWithSlot(slot: number, within: number): Promise<boolean> {
    return new Promise((resolve) => {
      const settle = (came: boolean): void => {
        clearTimeout(timer);
        this.#arrivalListeners.delete(onArrival);
        resolve(came);
      };
      const onArrival = (visit: Visit): void => {
        if (visit.slot === slot) settle(true);
      };
      const timer = setTimeout(() => settle(false), within);
      this.#arrivalListeners.add(onArrival);
    });
  }

  stop(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const visit = visitOf(request.url ?? '');
    if (visit === undefined) {
      response.writeHead(400).end('expected /job?worker=…&slot=…&fencingToken=…');
      return;
    }
    this.judge.enter(visit);
    for (const listener of this.#arrivalListeners) listener(visit);
    const answer = (): void => {
      // Before the answer: the next holder may be here before this worker has read the answer.
      this.judge.leave(visit, 'answered');
      response.end('done');
    };
    this.#answers.set(visit, setTimeout(answer, randomInt(FASTEST, SLOWEST)));
    response.once('close', () => {
      clearTimeout(this.#answers.get(visit));
      this.#answers.delete(visit);
      this.judge.leave(visit, 'cut off');
    });
  }
}

export function jobUrl(judgeUrl: string, visit: Visit): URL {
  const url = new URL('/job', judgeUrl);
  for (const [name, value] of Object.entries(visit)) url.searchParams.set(name, String(value));
  return url;
}

function visitOf(path: string): Visit | undefined {
  const { pathname, searchParams } = new URL(path, 'http://localhost');
  const number = (name: string): number => Number(searchParams.get(name) ?? Number.NaN);
  const visit = {
    worker: number('worker'),
    slot: number('slot'),
    fencingToken: number('fencingToken'),
  };
  const complete = pathname === '/job' && Object.values(visit).every(Number.isSafeInteger);
  return complete ? visit : undefined;
}
