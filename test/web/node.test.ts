import { request as httpRequest, type RequestOptions } from 'node:http';
import { expect } from 'chai';
import type { NodeListener } from '../../src/web/node.js';
import { toNodeListener } from '../../src/web/node.js';
import { eventually } from '../support/eventually.js';
import { answerTo, Events, sendLimit, viewFixture, withServer } from './web-fixture.js';

describe('the bridge to node:http', () => {
  it('passes requests, bodies and streams on, and the end of a connection', async () => {
    const { clock, view, open } = viewFixture({ actions: true });
    const timers = clock.timers;
    await withServer(toNodeListener(view), async (address) => {
      expect(await (await fetch(address)).text()).to.match(/^<!doctype html>/i);
      const gone = new AbortController();
      const response = await fetch(`${address}/api/events?name=jobs`, { signal: gone.signal });
      const events = new Events(response);
      expect(await events.next('detail')).to.have.nested.property('row.limit', null);
      const change = await sendLimit(`${address}/api/limit`, address);
      expect(await change.json()).to.deep.equal({ changed: true });
      expect(await open('jobs').inspect()).to.include({ limit: 3, limitFrom: 'setLimit' });
      gone.abort();
    });
    await clock.advance(20_000);
    expect(clock.timers).to.equal(timers);
  });

  it('leaves the answer to the framework when the handler fails, and nothing else', async () => {
    const failure = new Error('the login is away');
    const onError = (): void => undefined;
    const { view } = viewFixture({ onError });
    const failing = toNodeListener(Object.assign(() => Promise.reject(failure), { onError }));
    const serving = toNodeListener(view);
    const passedOn: unknown[] = [];
    const listener: NodeListener = (request, response) => {
      const next = (error?: unknown): void => {
        passedOn.push(error);
        response.writeHead(503).end();
      };
      (request.url === '/' ? serving : failing)(request, response, next);
    };
    await withServer(listener, async (address) => {
      expect((await fetch(address)).status).to.equal(200);
      expect((await fetch(`${address}/failing`)).status).to.equal(503);
    });
    expect(passedOn).to.deep.equal([failure]);
  });
});

describe('the request that authorize gets', () => {
  const login = (request: Request): Response =>
    Response.redirect(new URL('/login', request.url), 302);

  it('has the host and the scheme of the request, so that a redirect goes where it should', async () => {
    const { view } = viewFixture({ authorize: login });
    const plain = toNodeListener(view);
    let isEncrypted = false;
    const listener: NodeListener = (request, response) => {
      // As a TLS socket has it.
      if (isEncrypted) Object.assign(request.socket, { encrypted: true });
      plain(request, response);
    };
    await withServer(listener, async (address) => {
      const goesTo = async (options: RequestOptions): Promise<string | undefined> =>
        (await answerTo(address, options)).headers.location;
      const host = 'ops.example:8080';
      expect(await goesTo({ headers: { host } })).to.equal('http://ops.example:8080/login');
      const path = 'http://www.example/s/';
      expect(await goesTo({ headers: { host }, path })).to.equal('http://www.example/login');
      isEncrypted = true;
      expect(await goesTo({ headers: { host } })).to.equal('https://ops.example:8080/login');
    });
  });

  it('has the origin that is given, behind a proxy, from where changes may come', async () => {
    const origin = 'https://ops.example';
    const seen: string[] = [];
    const authorize = ({ url }: Request): boolean => seen.push(url) > 0;
    const { view } = viewFixture({ actions: true, authorize, origin: `${origin}/` });
    await withServer(toNodeListener(view), async (address) => {
      for (const [from, status] of [
        [origin, 200],
        [address, 403],
      ] as const) {
        const change = await sendLimit(`${address}/api/limit?x=1`, from);
        expect(change.status).to.equal(status);
      }
    });
    expect(seen).to.deep.equal(Array(2).fill(`${origin}/api/limit?x=1`));
  });

  it('may be answered with several cookies, beside the cookies that are set already', async () => {
    const cookies = ['session=; Max-Age=0', 'back=%2Fsemaphores'];
    const headers = cookies.map((cookie): [string, string] => ['set-cookie', cookie]);
    const { view } = viewFixture({ authorize: () => new Response(null, { status: 401, headers }) });
    const plain = toNodeListener(view);
    const listener: NodeListener = (request, response) => {
      plain(request, response.setHeader('set-cookie', 'own=1'));
    };
    await withServer(listener, async (address) => {
      for (const method of ['GET', 'HEAD']) {
        const response = await fetch(address, { method });
        expect(response.headers.getSetCookie()).to.deep.equal(['own=1', ...cookies]);
      }
    });
  });

  it('has a signal that aborts when the client leaves', async () => {
    const gone = new AbortController();
    let signal: AbortSignal | undefined;
    const authorize = (request: Request): Promise<boolean> => {
      ({ signal } = request);
      gone.abort();
      return new Promise(() => undefined);
    };
    await withServer(toNodeListener(viewFixture({ authorize }).view), async (address) => {
      expect(await fetch(address, gone).catch(String)).to.match(/AbortError/);
      await eventually(() => signal?.aborted === true);
    });
  });
});

describe('requests of other forms', () => {
  it('are answered as RFC 9112 says, and fail nowhere', async () => {
    const told: unknown[] = [];
    const options = { hosts: ['ops.example'], onError: (error: unknown) => told.push(error) };
    const { view } = viewFixture(options);
    const own = { host: 'ops.example' };
    await withServer(toNodeListener(view), async (address) => {
      const cases: readonly [number, RequestOptions][] = [
        [200, { headers: own, path: '/' }],
        [200, { headers: own, path: 'http://ops.example/app.js' }],
        [200, { headers: { host: 'evil.example' }, path: 'http://ops.example/' }],
        [421, { headers: own, path: 'http://evil.example/' }],
        [421, { headers: { host: 'evil.example' }, path: '/' }],
        [421, { headers: { host: '' }, path: '/' }],
        [400, { headers: { host: 'ops.example/x' }, path: '/' }],
        [400, { headers: { host: 'me@ops.example' }, path: '/' }],
        [400, { headers: { host: 'ops.example:port' }, path: '/' }],
        [400, { headers: own, path: 'http://me@ops.example/' }],
        [400, { headers: own, path: 'ftp://ops.example/' }],
        [405, { headers: own, path: '*', method: 'OPTIONS' }],
        [404, { headers: own, path: '//evil.example/' }],
        [501, { headers: own, path: '/', method: 'TRACE' }],
        [501, { headers: own, path: '/api/list', method: 'TRACE' }],
      ];
      for (const [status, request] of cases) {
        expect((await answerTo(address, request)).status, JSON.stringify(request)).to.equal(status);
      }
    });
    expect(told).to.deep.equal([]);
  });

  it('a body that breaks off, or that was read already, is an error of the request', async () => {
    const told: unknown[] = [];
    const { view } = viewFixture({
      actions: true,
      authorize: async (request) => (await request.text()) !== 'x',
      onError: (error) => told.push(error),
    });
    let ended = 0;
    const plain = toNodeListener(view);
    const listener: NodeListener = (request, response) => {
      response.once('close', () => (ended += 1));
      plain(request, response);
    };
    const headers = { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' };
    await withServer(listener, async (address) => {
      const post = { method: 'POST', headers, body: '{}' };
      expect((await fetch(`${address}/api/pause`, post)).status).to.equal(400);
      const broken = httpRequest(`${address}/api/pause`, { method: 'POST', headers });
      broken.on('error', () => undefined).write('{"name":');
      broken.once('socket', (socket) => socket.once('connect', () => socket.end()));
      await eventually(() => ended === 2);
      expect((await fetch(address)).status).to.equal(200);
    });
    expect(told.filter((error) => !(error instanceof Error))).to.deep.equal([]);
  });
});
