import { request as httpRequest } from 'node:http';
import { expect } from 'chai';
import { toNodeListener } from '../../src/web/node.js';
import { eventually } from '../support/eventually.js';
import { answerTo, Events, sendLimit, serve, viewFixture } from './web-fixture.js';

describe('the bridge to node:http', () => {
  it('passes requests, bodies and streams on, and the end of a connection', async () => {
    const signals: AbortSignal[] = [];
    const authorize = ({ signal }: Request): boolean => signals.push(signal) > 0;
    const { clock, view, open } = viewFixture({ actions: true, authorize });
    const timers = clock.timers;
    const address = await serve(toNodeListener(view));
    const gone = new AbortController();
    const events = new Events(await fetch(`${address}/api/events?name=jobs`, gone));
    expect(await (await fetch(address)).text()).to.match(/^<!doctype html>/i);
    expect(await events.next('detail')).to.have.nested.property('row.limit', null);
    const change = await sendLimit(`${address}/api/limit`, { origin: address });
    expect(await change.json()).to.deep.equal({ changed: true });
    expect(await open('jobs').inspect()).to.include({ limit: 3, limitFrom: 'setLimit' });
    gone.abort();
    await eventually(async () => {
      await clock.advance(20_000);
      return signals[0]?.aborted === true && clock.timers === timers;
    });
  });

  it('answers the error of a handler with 500, or leaves the answer to the framework', async () => {
    const failure = new Error('the login is away');
    const { view, told } = viewFixture();
    const onError = (error: unknown): void => void told.push(error);
    const failing = toNodeListener(Object.assign(() => Promise.reject(failure), { onError }));
    const serving = toNodeListener(view);
    const passedOn: unknown[] = [];
    const address = await serve((request, response) => {
      if (request.url === '/alone') return failing(request, response);
      (request.url === '/' ? serving : failing)(request, response, (error?: unknown) => {
        passedOn.push(error);
        response.writeHead(503).end();
      });
    });
    for (const [path, status] of [
      ['alone', 500],
      ['', 200],
      ['failing', 503],
    ] as const)
      expect((await fetch(`${address}/${path}`)).status).to.equal(status);
    expect([passedOn, told]).to.deep.equal([[failure], [failure, failure]]);
  });

  it('sends the same response with several cookies to each request, beside other cookies', async () => {
    const cookies = ['session=; Max-Age=0', 'back=%2Fsemaphores'];
    const headers = cookies.map((cookie): [string, string] => ['set-cookie', cookie]);
    const denied = new Response('please log in', { status: 401, headers });
    const { view, told } = viewFixture({ authorize: () => denied });
    const plain = toNodeListener(view);
    const address = await serve((request, response) => {
      plain(request, response.setHeader('set-cookie', 'own=1'));
    });
    for (const method of ['GET', 'HEAD', 'POST', 'GET']) {
      const response = await fetch(address, { method });
      expect(response.status).to.equal(401);
      expect(await response.text()).to.equal(method === 'HEAD' ? '' : 'please log in');
      expect(response.headers.getSetCookie()).to.deep.equal(['own=1', ...cookies]);
    }
    expect(told).to.deep.equal([]);
  });

  it('gives authorize the host and the scheme of the request, or the given origin, from where changes may come', async () => {
    const login = ({ url }: Request) => Response.redirect(new URL('/login', url), 302);
    const plain = toNodeListener(viewFixture({ authorize: login }).view);
    let isEncrypted = false;
    const address = await serve((request, response) => {
      // As a TLS socket has it.
      if (isEncrypted) Object.assign(request.socket, { encrypted: true });
      plain(request, response);
    });
    for (const [encrypted, path, target] of [
      [false, '/', 'http://ops.example:8080/login'],
      [false, 'http://www.example/s/', 'http://www.example/login'],
      [true, '/', 'https://ops.example:8080/login'],
    ] as const) {
      isEncrypted = encrypted;
      const { headers } = await answerTo(address, { path, headers: { host: 'ops.example:8080' } });
      expect(headers.location).to.equal(target);
    }
    const [origin, seen] = ['https://ops.example', [] as string[]];
    const authorize = ({ url }: Request): boolean => seen.push(url) > 0;
    const { view } = viewFixture({ actions: true, authorize, origin: `${origin}/` });
    const behind = await serve(toNodeListener(view));
    expect((await sendLimit(`${behind}/api/limit?x=1`, { origin })).status).to.equal(200);
    const foreign = await sendLimit(`${behind}/api/limit?x=1`, { origin: behind });
    expect(foreign.status).to.equal(403);
    expect(seen).to.deep.equal(Array(2).fill(`${origin}/api/limit?x=1`));
  });

  it('answers requests of other forms as RFC 9112 says, and fails nowhere', async () => {
    const { view, told } = viewFixture({ hosts: ['ops.example'] });
    const address = await serve(toNodeListener(view));
    for (const [status, path, host, method] of [
      [200, '/'],
      [200, 'http://ops.example/app.js'],
      [200, 'http://ops.example/', 'evil.example'],
      [421, 'http://evil.example/'],
      [421, '/', 'evil.example'],
      [421, '/', ''],
      [400, '/', 'ops.example/x'],
      [400, '/', 'me@ops.example'],
      [400, '/', 'ops.example:port'],
      [400, 'http://me@ops.example/'],
      [400, 'ftp://ops.example/'],
      [405, '*', 'ops.example', 'OPTIONS'],
      [404, '//evil.example/'],
      [501, '/', 'ops.example', 'TRACE'],
      [501, '/api/list', 'ops.example', 'TRACE'],
    ] as const) {
      const request = { path, headers: { host: host ?? 'ops.example' }, method };
      expect((await answerTo(address, request)).status, JSON.stringify(request)).to.equal(status);
    }
    expect(told).to.deep.equal([]);
  });

  it('treats a body that breaks off, or that was read already, as an error of the request', async () => {
    const authorize = async (request: Request) => (await request.text()) !== 'x';
    const { view, told } = viewFixture({ actions: true, authorize });
    let ended = 0;
    const plain = toNodeListener(view);
    const address = await serve((request, response) => {
      response.once('close', () => (ended += 1));
      plain(request, response);
    });
    const headers = { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' };
    const post = { method: 'POST', headers };
    expect((await fetch(`${address}/api/pause`, { ...post, body: '{}' })).status).to.equal(400);
    const broken = httpRequest(`${address}/api/pause`, post);
    broken.on('error', () => undefined).write('{"name":');
    broken.once('socket', (socket) => socket.once('connect', () => socket.end()));
    await eventually(() => ended === 2);
    expect((await fetch(address)).status).to.equal(200);
    expect(told.filter((error) => !(error instanceof Error))).to.deep.equal([]);
  });
});
