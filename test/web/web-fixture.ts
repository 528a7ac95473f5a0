import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type RequestOptions } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ManualClock, MemoryBackend, Semaphore } from '../../src/index.js';
import type { WebHandler, WebViewOptions } from '../../src/web/index.js';
import { webView } from '../../src/web/index.js';
import type { NodeListener } from '../../src/web/node.js';
import { afterTest } from '../support/after-test.js';

export const TOKEN = 'a-token-for-tests-0123456789';
const ORIGIN = 'http://view.example';

/**
 * Lets a view end its looks with the test: until then it listens for losses in this process, and
 * would hear the losses of a later test.
 */
export function endLooks<C extends { advance(duration: number): unknown }>(clock: C): C {
  afterTest(() => clock.advance(60_000));
  return clock;
}

/** A view of semaphores in memory, on a clock that the test moves, and the errors of the view. */
export function viewFixture(options: WebViewOptions = {}) {
  const clock = endLooks(new ManualClock(1_800_000_000_000));
  const backend = new MemoryBackend({ clock });
  const told: unknown[] = [];
  const onError = (error: unknown): void => void told.push(error);
  const view = webView(backend, { clock, onError, ...options });
  const open = (name: string, limit = 1, label = 'the test'): Semaphore =>
    new Semaphore(backend, name, { limit, label });
  return { clock, backend, view, told, open };
}

export function get(
  view: WebHandler,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return view(new Request(ORIGIN + path, { headers: { host: 'view.example', ...headers } }));
}

/** The JSON of an `api/…`. */
export async function shown<T>(view: WebHandler, path: string): Promise<T> {
  return (await (await get(view, `/api/${path}`)).json()) as T;
}

/** A request as of the page, but for `headers`; undefined leaves a header out. */
export function post(
  view: WebHandler,
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string | undefined>> = {},
): Promise<Response> {
  const all = {
    host: 'view.example',
    'content-type': 'application/json',
    'sec-fetch-site': 'same-origin',
    ...headers,
  };
  const sent = Object.entries(all).filter(([, value]) => value !== undefined);
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const init = { method: 'POST', headers: sent, body: text };
  return view(new Request(ORIGIN + path, init));
}

/** Over HTTP: the limit of `jobs` is 3. */
export function sendLimit(url: string, headers: Readonly<Record<string, string>>) {
  const body = JSON.stringify({ name: 'jobs', limit: 3 });
  const all = { 'content-type': 'application/json', ...headers };
  return fetch(url, { method: 'POST', headers: all, body });
}

/** The answer to a request that is sent as it is: `fetch` would change it. */
export async function answerTo(address: string, options: RequestOptions) {
  const [response] = (await once(request(address, options).end(), 'response')) as [IncomingMessage];
  return { status: response.resume().statusCode, headers: response.headers };
}

/** The events of a stream, as they come; the stream is cancelled when the test ends. */
export class Events {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  #text = '';

  constructor({ body }: Response) {
    if (body === null) throw new Error('a response without a body');
    this.#reader = body.getReader();
    afterTest(() => this.cancel());
  }

  /** The data of the next event of that type; undefined at the end. */
  async next(type: string): Promise<unknown> {
    for (;;) {
      const [block = '', ...others] = this.#text.split('\n\n');
      if (others.length === 0) {
        const { value } = await this.#reader.read();
        if (value === undefined) return undefined;
        this.#text += Buffer.from(value).toString();
        continue;
      }
      this.#text = others.join('\n\n');
      const [, name, data = ''] = /^event: (\w+)\ndata: (.*)$/.exec(block) ?? [];
      if (name === type) return JSON.parse(data);
    }
  }

  cancel(): Promise<void> {
    return this.#reader.cancel().catch(() => undefined);
  }
}

/** Serves on a free port until the test ends; gives the address. */
export async function serve(listener: NodeListener): Promise<string> {
  const server = createServer((asked, response) => listener(asked, response));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  afterTest(() => server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
