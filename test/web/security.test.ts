import { expect } from 'chai';
import { get, post, TOKEN, viewFixture } from './web-fixture.js';

const CHANGES = [
  ['limit', { name: 'jobs', limit: 7 }],
  ['pause', { name: 'jobs' }],
  ['revoke', { name: 'jobs', ticketId: 'some.1' }],
] as const;
const FORM = 'application/x-www-form-urlencoded';

describe('attacks on the web view', () => {
  it('no change where only looking is allowed, which is the default', async () => {
    const { view, open } = viewFixture();
    const jobs = open('jobs', 3);
    await jobs.acquire();
    for (const [kind, body] of CHANGES) {
      const response = await post(view, `/api/${kind}`, body);
      expect(response.status).to.equal(403);
      expect(await response.json()).to.deep.equal({ error: 'this view is read-only' });
    }
    expect(await jobs.inspect()).to.include({ limit: 3, limitFrom: 'caller', held: 1 });
    const list = await (await get(view, '/api/list')).json();
    expect(list).to.include({ actions: false });
  });

  it('no change by another method, another type of content or a body that is no JSON object', async () => {
    const { view, open } = viewFixture({ actions: true });
    const jobs = open('jobs', 3);
    await jobs.acquire();
    const [path, body] = ['/api/limit', { name: 'jobs', limit: 7 }];
    for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const request = new Request(`http://view.example${path}?name=jobs&limit=7`, {
        method,
        headers: { 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' },
      });
      const response = await view(request);
      expect(response.status, method).to.equal(405);
      expect(response.headers.get('allow')).to.equal('POST');
    }
    // The types that a form of another site can send.
    const types = [FORM, 'multipart/form-data', 'text/plain', 'application/jsonp', undefined];
    for (const type of types) {
      const response = await post(view, path, body, { 'content-type': type });
      expect(response.status, type).to.equal(415);
    }
    for (const wrong of ['', '{', 'null', '[]', '7', '{"name":"jobs","limit":']) {
      expect((await post(view, path, wrong)).status, wrong).to.equal(400);
    }
    const names = [undefined, '', 'x'.repeat(513), ['jobs'], '\ud800'];
    for (const [api, wrong] of [
      ...names.map((name) => ['limit', { name, limit: 7 }]),
      ...[undefined, -1, 1.5, '7'].map((limit) => ['limit', { name: 'jobs', limit }]),
      ...[undefined, 7, '', 'no id', '__proto__'].map((ticketId) => {
        return ['revoke', { name: 'jobs', ticketId }];
      }),
    ] as [string, object][]) {
      const response = await post(view, `/api/${api}`, wrong);
      expect(response.status, JSON.stringify(wrong)).to.equal(400);
    }
    expect(await jobs.inspect()).to.include({ limit: 3, limitFrom: 'caller', held: 1 });
  });

  it('no change from another origin, nor by a request that does not name its origin', async () => {
    const { view, open } = viewFixture({ actions: true });
    await open('jobs', 3).acquire();
    const from = (headers: Record<string, string | undefined>): Promise<Response> =>
      post(view, '/api/limit', CHANGES[0][1], { 'sec-fetch-site': undefined, ...headers });
    const own = 'http://view.example';
    for (const headers of [
      {},
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
      { 'sec-fetch-site': 'cross-site', origin: own },
      { origin: 'http://evil.example' },
      { origin: 'http://view.example.evil.example' },
      { origin: 'http://view.example:8080' },
      { origin: 'null' },
      { origin: '' },
      { referer: `${own}/` },
    ]) {
      expect((await from(headers)).status, JSON.stringify(headers)).to.equal(403);
    }
    expect(await open('jobs').inspect()).to.include({ limit: 3, limitFrom: 'caller' });
    expect((await from({ origin: own })).status).to.equal(200);
    expect((await from({ 'sec-fetch-site': 'same-origin' })).status).to.equal(200);
    expect(await open('jobs').inspect()).to.include({ limit: 7, limitFrom: 'setLimit' });
  });

  it('no body of any length, whatever it says of its length', async () => {
    const { view } = viewFixture({ actions: true });
    let sent = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        sent += 1024;
        controller.enqueue(new Uint8Array(1024).fill(32));
      },
    });
    const request = new Request('http://view.example/api/limit', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
      body: endless,
      duplex: 'half',
    });
    expect((await view(request)).status).to.equal(413);
    expect(sent).to.be.below(10 * 1024);
  });

  it('gives no data and makes no change without the token, nor with a token in the URL or a cookie', async () => {
    const { view } = viewFixture({ actions: true, token: TOKEN });
    const asked = async (path: string, headers: Record<string, string> = {}): Promise<number> =>
      (await get(view, path, headers)).status;
    for (const path of ['/api/list', '/api/semaphore?name=jobs', '/api/events', '/api/nonsense']) {
      const more = path.includes('?') ? '&' : '?';
      expect((await get(view, path)).headers.get('www-authenticate')).to.equal('Bearer');
      expect(await asked(`${path}${more}token=${TOKEN}&access_token=${TOKEN}`)).to.equal(401);
      for (const headers of [
        {},
        { cookie: `token=${TOKEN}; redsem-token=${TOKEN}` },
        { authorization: TOKEN },
        { authorization: `Basic ${btoa(`x:${TOKEN}`)}` },
        { authorization: 'Bearer ' },
        { authorization: `Bearer ${TOKEN.slice(1)}` },
        { authorization: `Bearer ${TOKEN}0` },
        { authorization: `Bearer ${TOKEN.toUpperCase()}` },
      ]) {
        expect(await asked(path, headers), JSON.stringify(headers)).to.equal(401);
      }
    }
    for (const [kind, body] of CHANGES) {
      expect((await post(view, `/api/${kind}`, body)).status).to.equal(401);
    }
    const authorization = `Bearer ${TOKEN}`;
    expect(await asked('/api/list', { authorization })).to.equal(200);
    const limit = { name: 'jobs', limit: 2 };
    expect((await post(view, '/api/limit', limit, { authorization })).status).to.equal(200);
    // The token does not stand for the origin.
    const foreign = { authorization, 'sec-fetch-site': 'cross-site' };
    expect((await post(view, '/api/limit', limit, foreign)).status).to.equal(403);
    // The page says nothing, and asks for the token.
    expect(await asked('/')).to.equal(200);
  });

  it('no answer under another host: a name that an attacker points here', async () => {
    const { view } = viewFixture({ hosts: ['127.0.0.1:8080', 'Localhost:8080'] });
    const foreign = ['evil.example', '127.0.0.1', 'localhost', '127.0.0.1:8081', '[::1]:8080', ''];
    for (const host of foreign) {
      for (const path of ['/', '/app.js', '/api/list', '/api/events']) {
        expect((await get(view, path, { host })).status, host).to.equal(421);
      }
    }
    for (const host of ['127.0.0.1:8080', 'localhost:8080', 'LOCALHOST:8080']) {
      expect((await get(view, '/api/list', { host })).status, host).to.equal(200);
    }
  });

  it('nothing at all where authorize does not say yes', async () => {
    let verdict: unknown;
    const { view } = viewFixture({ actions: true, authorize: () => verdict as boolean });
    for (verdict of [false, undefined, null, 0, 'yes', 1, {}]) {
      for (const path of ['/', '/app.js', '/style.css', '/api/list', '/nothing']) {
        expect((await get(view, path)).status, String(verdict)).to.equal(403);
      }
      expect((await post(view, '/api/pause', { name: 'jobs' })).status).to.equal(403);
    }
    verdict = Response.redirect('https://login.example/', 302);
    expect((await get(view, '/')).headers.get('location')).to.equal('https://login.example/');
    verdict = true;
    expect((await get(view, '/')).status).to.equal(200);
  });

  it('no frame, no script from elsewhere, no cookie, no copy in a cache, no other site that reads', async () => {
    const { view } = viewFixture({ basePath: '/s' });
    const origin = { origin: 'http://evil.example', 'sec-fetch-site': 'cross-site' };
    for (const path of ['/s', '/s/', '/s/app.js', '/s/style.css', '/s/api/list', '/s/x', '/y']) {
      const { headers } = await get(view, path, origin);
      const policy = headers.get('content-security-policy');
      expect(policy?.split('; ')).to.deep.equal([
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
      ]);
      expect(Object.fromEntries(headers)).to.include({
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'cross-origin-resource-policy': 'same-origin',
        'x-content-type-options': 'nosniff',
      });
      for (const name of ['set-cookie', 'access-control-allow-origin'])
        expect(headers.get(name), name).to.equal(null);
    }
  });

  it('no file beside the files of the page', async () => {
    const { view } = viewFixture({ basePath: '/s' });
    const beside = ['index.html', '/app.js', 'constructor', '__proto__'];
    const above = ['../package.json', '%2e%2e/package.json', '..%2fpackage.json'];
    const calls = ['api/', 'api/constructor', 'api/list/x'];
    const inside = [...beside, ...above, ...calls].map((path) => `/s/${path}`);
    for (const path of [...inside, '/sx/', '/', '//s/']) {
      expect((await get(view, path)).status, path).to.equal(404);
    }
    expect((await get(view, '/s')).headers.get('location')).to.equal('/s/');
  });
});
