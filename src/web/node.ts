/**
 * Bridges from the handler of `redsem/web` to servers on `node:http`: Express, NestJS and Connect
 * take `toNodeListener` as it is, Fastify and Koa have one each.
 * @module
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { systemClock } from '../time/clock.js';
import { Refusal, refused } from './answers.js';
import { reporter } from './reporter.js';
import type { WebHandler } from './web-view.js';

/** A request of `node:http`, or of a framework that has parsed its body or changed its URL. */
export type NodeRequest = IncomingMessage & {
  /** The body, if a framework has read and parsed it. */
  readonly body?: unknown;
  /** The URL with the path under which a framework mounts the handler. */
  readonly originalUrl?: string;
};

/** A listener for requests of `node:http`, Connect, Express and NestJS. */
export type NodeListener = (
  request: NodeRequest,
  response: ServerResponse,
  next?: (error?: unknown) => void,
) => void;

/**
 * For `http.createServer(listener)`, and for `app.use('/path', listener)` of Express and NestJS. A
 * framework that gives `next` answers itself when the handler fails before a response has begun.
 */
export function toNodeListener(handler: WebHandler): NodeListener {
  const serve = serverOf(handler);
  return (request, response, next) => void serve(request, response, next);
}

/** The methods of a Fastify instance that the view calls. */
export interface FastifyLike {
  /** The view reads bodies itself. */
  removeAllContentTypeParsers(): void;
  /** Takes bodies of every type unread. */
  addContentTypeParser(
    type: string,
    parser: (request: unknown, body: unknown, done: (error: null) => void) => void,
  ): unknown;
  /** Routes requests of every method. */
  all(
    path: string,
    handler: (
      request: { readonly raw: IncomingMessage },
      reply: { readonly raw: ServerResponse; hijack(): unknown },
    ) => void,
  ): unknown;
}

/** For `fastify.register(fastifyView(handler), { prefix: '/path' })`. */
export function fastifyView(handler: WebHandler): (fastify: FastifyLike) => Promise<void> {
  const listener = toNodeListener(handler);
  return (fastify) => {
    fastify.removeAllContentTypeParsers();
    fastify.addContentTypeParser('*', (_request, _body, done) => done(null));
    for (const path of ['/', '/*']) {
      fastify.all(path, (request, reply) => {
        reply.hijack();
        listener(request.raw, reply.raw);
      });
    }
    return Promise.resolve();
  };
}

/** The fields of a Koa context that the view reads. */
export interface KoaContext {
  /** Of the request, from the root of the application. */
  readonly path: string;
  /** The request as Node.js has it. */
  readonly req: IncomingMessage;
  /** The response as Node.js has it. */
  readonly res: ServerResponse;
  /** False: Koa leaves the response to the view. */
  respond?: boolean | undefined;
}

/** For `app.use(koaView(handler, '/path'))`; a request of another path goes to the next. */
export function koaView(
  handler: WebHandler,
  basePath: string,
): (context: KoaContext, next: () => Promise<unknown>) => Promise<unknown> {
  const serve = serverOf(handler);
  return async (context, next) => {
    const isBelow = `${context.path}/`.startsWith(`${basePath}/`);
    if (!isBelow) return next();
    context.respond = false;
    return serve(context.req, context.res);
  };
}

type Serve = (...call: Parameters<NodeListener>) => Promise<void>;

/** The returned function never rejects: an error ends only the response to its request. */
function serverOf(handler: WebHandler): Serve {
  const report = reporter(handler.onError, systemClock);
  return async (request, response, next = () => response.writeHead(500).end()) => {
    try {
      const ended = new AbortController();
      response.once('close', () => ended.abort());
      const answered = await answerTo(handler, request, ended.signal);
      await send(answered, response, (error) => {
        // A disconnect of the client is no error.
        if (!ended.signal.aborted) report(error);
      });
    } catch (error) {
      report(error);
      if (response.headersSent) response.destroy();
      else next(error);
    }
  };
}

async function answerTo(
  handler: WebHandler,
  request: NodeRequest,
  signal: AbortSignal,
): Promise<Response> {
  try {
    return await handler(webRequest(request, signal));
  } catch (error) {
    if (error instanceof Refusal) return refused(error);
    throw error;
  }
}

async function send(
  { status, headers, body }: Response,
  response: ServerResponse,
  onBroken: (error: unknown) => void,
): Promise<void> {
  // It fails for a body that has been read, so before the headers leave.
  const source = body === null ? undefined : Readable.fromWeb(body).once('error', onBroken);
  // The framework has answered meanwhile, for example after a time limit.
  if (response.headersSent) return void source?.destroy();
  for (const cookie of headers.getSetCookie()) response.appendHeader('set-cookie', cookie);
  const others = [...headers].filter(([name]) => name !== 'set-cookie');
  response.writeHead(status, Object.fromEntries(others));
  if (source === undefined) return void response.end();
  await pipeline(source, response).catch(() => response.destroy());
}

function webRequest(request: NodeRequest, signal: AbortSignal): Request {
  const { method = 'GET', headers } = request;
  // `Request` refuses these methods: https://fetch.spec.whatwg.org/#forbidden-method
  if (/^(?:CONNECT|TRACE|TRACK)$/i.test(method)) throw new Refusal(501, `no ${method} here`);
  const url = urlOf(request);
  const lines = Object.entries(headers).filter(([name]) => !name.startsWith(':'));
  const all = new Headers(lines.map(([name, value]): [string, string] => [name, String(value)]));
  if (isAbsolute(targetOf(request))) all.set('host', url.host);
  const body = method === 'GET' || method === 'HEAD' ? null : bodyOf(request);
  return new Request(url, { method, headers: all, body, signal, duplex: 'half' });
}

/**
 * The URL of a request: https://www.rfc-editor.org/rfc/rfc9112#section-3.3. A target in absolute
 * form names the host, whatever `Host` says.
 */
function urlOf(request: NodeRequest): URL {
  const target = targetOf(request);
  const { host, [':authority']: authority } = request.headers;
  const scheme = Reflect.get(request.socket, 'encrypted') === true ? 'https' : 'http';
  const name = String(host || authority || 'localhost');
  const text = isAbsolute(target) ? target : `${scheme}://${name}${target}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.username === '' && url.password === '' && HOST.test(name)) return url;
  throw new Refusal(400, 'expected a valid request target and Host');
}

/** A host and port, without any other component of a URL. */
const HOST = /^(?:\[[\da-f:.]+\]|[\w.~!$&'()*+,;=%-]+)(?::\d*)?$/i;

function targetOf({ originalUrl, url = '/' }: NodeRequest): string {
  const target = originalUrl ?? url;
  if (target === '*') return '/';
  if (target.startsWith('/') || isAbsolute(target)) return target;
  throw new Refusal(400, 'expected a valid request target and Host');
}

function isAbsolute(target: string): boolean {
  return /^https?:\/\//i.test(target);
}

/** If a framework has read the body, it is written as JSON again. */
function bodyOf(request: NodeRequest): ReadableStream<Uint8Array> | string {
  return request.readableEnded ? JSON.stringify(request.body) : Readable.toWeb(request);
}
