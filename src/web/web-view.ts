import type { Backend } from '../backends/backend.js';
import type { RedisTarget } from '../clients.js';
import { checkName } from '../arguments/validation.js';
import type { Sampler } from '../sampler/sampler.js';
import { sharedSampler } from '../sampler/shared-samplers.js';
import { type Clock, systemClock } from '../time/clock.js';
import { answer, json, Refusal, refused, toJson } from './answers.js';
import { CHANGES, makeChange } from './changes.js';
import { eventStream, type StreamEvent } from './event-stream.js';
import { RedsemError } from '../errors.js';
import { admit, checkBearer, checkChange } from './guard.js';
import { type ResolvedView, resolveView, type WebViewOptions } from './options.js';
import { reporter } from './reporter.js';
import { type AssetName, pageAssets } from './page/assets.js';
import { detailOf, listSnapshot } from './snapshots.js';

/** Most streams of a view at once: each is a connection of a page. */
const MOST_STREAMS = 100;

/** Serves a request in the way of `fetch`. The handler of `webView` never rejects. */
export interface WebHandler {
  (request: Request): Promise<Response>;
  /** Gets the failures of a bridge after the handler has answered. Default: `console.error`. */
  readonly onError?: (error: unknown) => void;
}

const FILES: ReadonlyMap<string, readonly [AssetName, type: string]> = new Map([
  ['', ['index.html', 'text/html; charset=utf-8']],
  ['style.css', ['style.css', 'text/css; charset=utf-8']],
  ['app.js', ['app.js', 'text/javascript; charset=utf-8']],
]);

/**
 * A page that shows all semaphores live, with their holders and waiters, and, with `actions: true`,
 * changes limits and revokes tickets. The handler is a handler of the web platform: Hono, Bun, Deno
 * and Next.js take it as it is, Express, NestJS, Fastify and Koa by `redsem/web/node`. It sets no
 * cookie and loads nothing from elsewhere. Whatever the number of open pages, the server gets at
 * most 5 calls a second from each process; without an open page it gets none. The handler answers
 * also after a failure: see `onError`.
 * @param target as for a `Semaphore`
 * @throws {TypeError | RangeError} at once, naming option, expectation and value
 */
export function webView(target: RedisTarget | Backend, options: WebViewOptions = {}): WebHandler {
  const server = new ViewServer(target, resolveView(options));
  const onError = (error: unknown): void => server.report(error);
  return Object.assign((request: Request) => server.serve(request), { onError });
}

class ViewServer {
  /** Gives an error to `onError`. */
  readonly report: (error: unknown) => void;
  readonly #target: RedisTarget | Backend;
  readonly #view: ResolvedView;
  readonly #sampler: Sampler;
  readonly #clock: Clock;
  #streams = 0;

  constructor(target: RedisTarget | Backend, view: ResolvedView) {
    const { prefix, names, clock } = view;
    this.#target = target;
    this.#view = view;
    this.#sampler = sharedSampler(target, prefix, names, clock);
    this.#clock = clock ?? systemClock;
    this.report = reporter(view.onError, this.#clock);
  }

  async serve(given: Request): Promise<Response> {
    try {
      const request = seenFrom(this.#view.origin, given);
      const response = (await admit(request, this.#view)) ?? (await this.#route(request));
      if (request.method !== 'HEAD') return response;
      // A clone of a response ends only with the other clones.
      response.body?.cancel().catch(this.report);
      return new Response(null, response);
    } catch (error) {
      if (error instanceof Refusal) return refused(error);
      this.report(error);
      if (error instanceof RedsemError) return refused(new Refusal(502, error.message));
      return refused(new Refusal(500, 'the view failed'));
    }
  }

  async #route(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const { basePath } = this.#view;
    if (pathname === basePath && basePath !== '') {
      return answer(null, undefined, 308, { location: `${basePath}/` });
    }
    if (!pathname.startsWith(`${basePath}/`)) throw new Refusal(404, 'not found');
    const path = pathname.slice(basePath.length + 1);
    const file = FILES.get(path);
    if (file !== undefined) {
      checkMethod(request, 'GET', 'HEAD');
      return answer(pageAssets[file[0]], file[1]);
    }
    const [, call = ''] = /^api\/(\w+)$/.exec(path) ?? [];
    checkBearer(request, this.#view);
    if (CHANGES.has(call)) return this.#change(call, request);
    return this.#show(call, request, nameIn(searchParams));
  }

  async #change(kind: string, request: Request): Promise<Response> {
    checkMethod(request, 'POST');
    checkChange(request, this.#view);
    const { prefix, clock } = this.#view;
    return json(await makeChange(kind, request, this.#target, { prefix, clock }));
  }

  async #show(call: string, request: Request, name: string | undefined): Promise<Response> {
    if (call !== 'list' && call !== 'semaphore' && call !== 'events')
      throw new Refusal(404, 'not found');
    checkMethod(request, 'GET', 'HEAD');
    if (name !== undefined && !this.#sampler.hasRoomFor(name)) {
      throw new Refusal(503, 'too many semaphores are looked at');
    }
    if (call === 'events') return this.#events(request, name);
    if (call === 'semaphore' && name === undefined) throw new Refusal(400, 'name: expected a name');
    const shown = call === 'list' ? undefined : name;
    await this.#sampler.ask(shown, request.signal);
    return json(this.#picture(shown));
  }

  #events(request: Request, name: string | undefined): Response {
    const type = 'text/event-stream; charset=utf-8';
    // A proxy that buffers responses would keep the events.
    const headers = { 'x-accel-buffering': 'no' };
    if (request.method === 'HEAD') return answer(null, type, 200, headers);
    if (this.#streams >= MOST_STREAMS) throw new Refusal(503, 'too many pages are open');
    this.#streams += 1;
    const source = {
      current: () => this.#pictures(name),
      follow: (onNews: () => void) => this.#sampler.watch(name, onNews),
      end: (error?: unknown) => {
        this.#streams -= 1;
        if (error !== undefined) this.report(error);
      },
    };
    const stream = eventStream(source, this.#clock, request.signal);
    return answer(stream, type, 200, headers);
  }

  #pictures(name: string | undefined): StreamEvent[] {
    const { lastOkAt, trouble } = this.#sampler;
    if (lastOkAt === undefined && trouble === undefined) return [];
    const list: StreamEvent = ['list', toJson(this.#picture())];
    if (name === undefined || !this.#sampler.isClose(name)) return [list];
    return [list, ['detail', toJson(this.#picture(name))]];
  }

  /** Of the named semaphore, or of all. */
  #picture(name?: string): unknown {
    const [at, { actions }] = [this.#clock.wall(), this.#view];
    if (name === undefined) return listSnapshot(this.#sampler, at, actions);
    return detailOf(this.#sampler, name, at, actions);
  }
}

/** The request under the URL that browsers see. */
function seenFrom(origin: string | undefined, request: Request): Request {
  if (origin === undefined) return request;
  const { pathname, search } = new URL(request.url);
  const { method, headers, body, signal } = request;
  const init = { method, headers, body, signal, duplex: 'half' } as const;
  return new Request(`${origin}${pathname}${search}`, init);
}

function nameIn(query: URLSearchParams): string | undefined {
  const name = query.get('name');
  if (name === null) return undefined;
  try {
    return checkName(name);
  } catch (error) {
    throw new Refusal(400, error instanceof Error ? error.message : String(error));
  }
}

function checkMethod(request: Request, ...allowed: readonly string[]): void {
  if (allowed.includes(request.method)) return;
  throw new Refusal(405, `expected ${allowed.join(' or ')}`, { allow: allowed.join(', ') });
}
