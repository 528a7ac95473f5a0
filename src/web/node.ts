/**
 * Bridges from the handler of `redsem/web` to servers on `node:http`: Express, NestJS and Connect
 * take `toNodeListener` as it is, Fastify and Koa have one each.
 * @module
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { WebHandler } from './web-view.js';

/** A request of `node:http`, or of a framework that has parsed its body or changed its URL. */
export type NodeRequest = IncomingMessage & {
  /** What a framework's parser has made of a body that it has read. */
  readonly body?: unknown;
  /** The URL before a framework cut off where it mounts the handler. */
  readonly originalUrl?: string;
};

/** What `node:http`, Connect, Express and NestJS call with a request. */
export type NodeListener = (
  request: NodeRequest,
  response: ServerResponse,
  next?: (error?: unknown) => void,
) => void;

/**
 * For `http.createServer(listener)`, and for `app.use('/path', listener)` of Express and NestJS.
 */
export function toNodeListener(handler: WebHandler): NodeListener {
  return (request, response, next) => {
    const fail = next ?? (() => response.writeHead(500).end());
    void serve(handler, request, response).catch((error: unknown) => fail(error));
  };
}

/** What is used of a Fastify instance. */
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

/** What is used of a Koa context. */
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

/** For `app.use(koaView(handler, '/path'))`; what is below another path goes to the next. */
export function koaView(
  handler: WebHandler,
  basePath: string,
): (context: KoaContext, next: () => Promise<unknown>) => Promise<unknown> {
  return async (context, next) => {
    const isBelow = `${context.path}/`.startsWith(`${basePath}/`);
    if (!isBelow) return next();
    context.respond = false;
    return serve(handler, context.req, context.res);
  };
}

async function serve(
  handler: WebHandler,
  request: NodeRequest,
  response: ServerResponse,
): Promise<void> {
  const ended = new AbortController();
  response.once('close', () => ended.abort());
  const { status, headers, body } = await handler(webRequest(request, ended.signal));
  response.writeHead(status, Object.fromEntries(headers));
  if (body === null) return void response.end();
  // One who leaves in the middle is no error.
  await pipeline(Readable.fromWeb(body), response).catch(() => response.destroy());
}

function webRequest(request: NodeRequest, signal: AbortSignal): Request {
  const { method = 'GET', headers, originalUrl, url = '/' } = request;
  const lines = Object.entries(headers).filter(([name]) => !name.startsWith(':'));
  const body = method === 'GET' || method === 'HEAD' ? null : bodyOf(request);
  // What host is meant, the header says: text from elsewhere would make it anything.
  return new Request(new URL(`http://localhost${originalUrl ?? url}`), {
    method,
    headers: lines.map(([name, value]): [string, string] => [name, String(value)]),
    body,
    signal,
    duplex: 'half',
  });
}

/** A body that a framework has read already is written again. */
function bodyOf(request: NodeRequest): ReadableStream<Uint8Array> | string {
  return request.readableEnded ? JSON.stringify(request.body) : Readable.toWeb(request);
}
