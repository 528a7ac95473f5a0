import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { MemoryBackend, Semaphore } from '../../src/index.js';
import type { WebHandler } from '../../src/web/index.js';
import { webView } from '../../src/web/index.js';
import type { FastifyLike, KoaContext, NodeListener } from '../../src/web/node.js';
import { fastifyView, koaView, toNodeListener } from '../../src/web/node.js';
import { Events } from '../../test/web/web-fixture.js';
import { needPackages, packagesIn } from '../package/folder-packages.js';

const FOLDER = 'verification/frameworks';

/** The parts of the frameworks that are used. They are installed only beside this file. */
interface Frameworks {
  express: { default: Express & { json(): unknown } };
  hono: {
    Hono: new () => {
      all(path: string, handler: (c: { req: { raw: Request } }) => unknown): void;
      fetch: WebHandler;
    };
  };
  '@hono/node-server': {
    serve(options: { fetch: WebHandler; port: number; hostname: string }): Server;
  };
  fastify: {
    default(): FastifyLike & {
      register(plugin: unknown, options: object): unknown;
      listen(at: object): Promise<string>;
      server: Server;
      close(): Promise<void>;
    };
  };
  koa: {
    default: new () => {
      use(middleware: (context: KoaContext, next: () => Promise<unknown>) => unknown): void;
      callback(): NodeListener;
    };
  };
  '@nestjs/core': { NestFactory: { create(module: object, options: object): Promise<NestApp> } };
  '@nestjs/common': { Module(options: object): (target: object) => void };
}
interface Express {
  (): { use(...args: unknown[]): void; (request: unknown, response: unknown): void };
}
interface NestApp {
  use(...args: unknown[]): void;
  listen(port: number, host: string): Promise<unknown>;
  getHttpServer(): Server;
  close(): Promise<void>;
}

const load = packagesIn<Frameworks>(FOLDER);

function listening(server: Server): Promise<Server> {
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

/** How the view is mounted in each of them, as the guide says. */
const MOUNTS: Record<string, (view: WebHandler) => Promise<Server>> = {
  'node:http': (view) => listening(createServer(toNodeListener(view))),
  Express: async (view) => {
    const app = (await load('express')).default();
    app.use('/ops', toNodeListener(view));
    return listening(createServer(app));
  },
  'Express behind a parser of bodies': async (view) => {
    const express = (await load('express')).default;
    const app = express();
    app.use(express.json());
    app.use('/ops', toNodeListener(view));
    return listening(createServer(app));
  },
  Fastify: async (view) => {
    const app = (await load('fastify')).default();
    app.register(fastifyView(view), { prefix: '/ops' });
    await app.listen({ port: 0, host: '127.0.0.1' });
    return app.server;
  },
  Koa: async (view) => {
    const app = new (await load('koa')).default();
    app.use(koaView(view, '/ops'));
    return listening(createServer(app.callback()));
  },
  NestJS: async (view) => {
    const nest = await load('@nestjs/common');
    const AppModule = class AppModule {
      readonly title = 'empty';
    };
    nest.Module({})(AppModule);
    const { NestFactory } = await load('@nestjs/core');
    const app = await NestFactory.create(AppModule, { logger: false });
    app.use('/ops', toNodeListener(view));
    await app.listen(0, '127.0.0.1');
    return app.getHttpServer();
  },
  Hono: async (view) => {
    const app = new (await load('hono')).Hono();
    app.all('/ops/*', (c) => view(c.req.raw));
    const node = await load('@hono/node-server');
    const server = node.serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' });
    if (!server.listening) await new Promise((resolve) => server.once('listening', resolve));
    return server;
  },
};

describe('the web view mounted in', () => {
  before('install the frameworks', function () {
    return needPackages(this, FOLDER);
  });

  for (const [title, mount] of Object.entries(MOUNTS)) {
    it(`${title}: the page, data, events that end with the page, and a change`, async () => {
      const backend = new MemoryBackend();
      const view = webView(backend, { basePath: '/ops', actions: true });
      const server = await mount(view);
      const { port } = server.address() as AddressInfo;
      const address = `http://127.0.0.1:${port}/ops/`;
      const jobs = new Semaphore(backend, 'jobs', { limit: 2 });
      const handle = await jobs.acquire();
      const page = await fetch(address.slice(0, -1));
      expect([page.status, page.url]).to.deep.equal([200, address]);
      expect(page.headers.get('content-security-policy')).to.match(/^default-src 'none'/);
      const list: unknown = await (await fetch(`${address}api/list`)).json();
      expect(list).to.have.nested.property('semaphores[0].held', 1);
      const gone = new AbortController();
      const stream = await fetch(`${address}api/events?name=jobs`, { signal: gone.signal });
      const events = new Events(stream);
      expect(await events.next('detail')).to.have.nested.property('slots[0].holderId', handle.id);
      const change = (headers: Record<string, string>): Promise<Response> =>
        fetch(`${address}api/limit`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body: JSON.stringify({ name: 'jobs', limit: 5 }),
        });
      expect((await change({ origin: 'http://evil.example' })).status).to.equal(403);
      expect((await change({ origin: new URL(address).origin })).status).to.equal(200);
      let limit: unknown;
      while (limit !== 5) {
        const detail = (await events.next('detail')) as { row: { limit: unknown } };
        ({ limit } = detail.row);
      }
      expect((await fetch(`${address}nothing`)).status).to.equal(404);
      gone.abort();
      await handle.release();
      await jobs.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
  }
});
