import { expect } from 'chai';
import { get, post, TOKEN, viewFixture } from './web-fixture.js';

const LIMIT = { name: 'jobs', limit: 7 };
const CHANGES = [
  ['limit', LIMIT],
  ['pause', { name: 'jobs' }],
  ['revoke', { name: 'jobs', ticketId: 'some.1' }],
] as const;
const OWN = 'http://view.example';
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
  "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Whatever a request says of its length. */
function endlessBody() {
  let sent = 0;
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    sent += 1024;
    controller.enqueue(new Uint8Array(1024).fill(32));
  };
  return { stream: new ReadableStream({ pull }), sent: () => sent };
}

describe('attacks on the web view', () => {
  it('no change where only looking is allowed, which is the default', async () => {
    const { view, open } = viewFixture();
    for (const [kind, body] of CHANGES) {
      const response = await post(view, `/api/${kind}`, body);
      expect(response.status).to.equal(403);
      expect(await response.json()).to.deep.equal({ error: 'this view is read-only' });
    }
    expect(await open('jobs').inspect()).to.include({ limitFrom: 'options' });
    expect(await (await get(view, '/api/list')).json()).to.include({ actions: false });
  });

  it('no change by another method, origin or type of content, nor by a body that is no JSON object of its kind', async () => {
    const { view, open } = viewFixture({ actions: true });
    const jobs = open('jobs', 3);
    await jobs.acquire();
    const headers = { 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' };
    for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const url = `${OWN}/api/limit?name=jobs&limit=7`;
      const response = await view(new Request(url, { method, headers }));
      expect(response.status, method).to.equal(405);
      expect(response.headers.get('allow')).to.equal('POST');
    }
    const names = [undefined, '', 'x'.repeat(513), ['jobs'], '\ud800'];
    const limits = [undefined, -1, 1.5, '7'];
    const tickets = [undefined, 7, '', 'no id', '__proto__'];
    // The types that a form of another site can send.
    const types = ['application/x-www-form-urlencoded', 'multipart/form-data', 'text/plain'];
    for (const [status, api, body, changed] of [
      ...[...types, 'application/jsonp', undefined].map((type) => {
        return [415, 'limit', LIMIT, { 'content-type': type }] as const;
      }),
      ...['', '{', 'null', '[]', '7', '{"name":"jobs","limit":'].map((text) => {
        return [400, 'limit', text] as const;
      }),
      ...names.map((name) => [400, 'limit', { ...LIMIT, name }] as const),
      ...limits.map((limit) => [400, 'limit', { ...LIMIT, limit }] as const),
      ...tickets.map((ticketId) => [400, 'revoke', { name: 'jobs', ticketId }] as const),
      ...[
        {},
        { 'sec-fetch-site': 'cross-site' },
        { 'sec-fetch-site': 'same-site' },
        { 'sec-fetch-site': 'none' },
        { 'sec-fetch-site': 'cross-site', origin: OWN },
        { origin: 'http://evil.example' },
        { origin: 'http://view.example.evil.example' },
        { origin: 'http://view.example:8080' },
        { origin: 'null' },
        { origin: '' },
        { referer: `${OWN}/` },
      ].map((from) => [403, 'limit', LIMIT, { 'sec-fetch-site': undefined, ...from }] as const),
    ] as const) {
      const response = await post(view, `/api/${api}`, body, changed);
      expect(response.status, JSON.stringify([body, changed])).to.equal(status);
    }
    const endless = endlessBody();
    const init = { method: 'POST', headers, body: endless.stream, duplex: 'half' } as const;
    expect((await view(new Request(`${OWN}/api/limit`, init))).status).to.equal(413);
    expect(endless.sent()).to.be.below(10 * 1024);
    expect(await jobs.inspect()).to.include({ limit: 3, limitFrom: 'caller', held: 1 });
    for (const from of [{ 'sec-fetch-site': undefined, origin: OWN }, headers])
      expect((await post(view, '/api/limit', LIMIT, from)).status).to.equal(200);
    expect(await jobs.inspect()).to.include({ limit: 7, limitFrom: 'setLimit' });
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
        ...['', `Basic ${btoa(`x:${TOKEN}`)}`, TOKEN].map((authorization) => ({ authorization })),
        ...['', TOKEN.slice(1), `${TOKEN}0`, TOKEN.toUpperCase()].map((token) => {
          return { authorization: `Bearer ${token}` };
        }),
      ]) {
        expect(await asked(path, headers), JSON.stringify(headers)).to.equal(401);
      }
    }
    for (const [kind, body] of CHANGES)
      expect((await post(view, `/api/${kind}`, body)).status).to.equal(401);
    const authorization = `Bearer ${TOKEN}`;
    expect(await asked('/api/list', { authorization })).to.equal(200);
    expect((await post(view, '/api/limit', LIMIT, { authorization })).status).to.equal(200);
    // The token does not stand for the origin.
    const foreign = { authorization, 'sec-fetch-site': 'cross-site' };
    expect((await post(view, '/api/limit', LIMIT, foreign)).status).to.equal(403);
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

  it('no frame, no script from elsewhere, no cookie, no copy in a cache, no other site that reads, no other file', async () => {
    const { view } = viewFixture({ basePath: '/s' });
    const foreign = { origin: 'http://evil.example', 'sec-fetch-site': 'cross-site' };
    const beside = ['index.html', '/app.js', 'constructor', '__proto__', 'x'];
    const above = ['../package.json', '%2e%2e/package.json', '..%2fpackage.json'];
    const calls = ['api/', 'api/constructor', 'api/list/x'];
    const absent = [...beside, ...above, ...calls].map((path) => `/s/${path}`);
    for (const [status, paths] of [
      [200, ['/s/', '/s/app.js', '/s/style.css', '/s/api/list']],
      [308, ['/s']],
      [404, [...absent, '/sx/', '/', '//s/', '/y']],
    ] as const) {
      for (const path of paths) {
        const response = await get(view, path, foreign);
        expect(response.status, path).to.equal(status);
        expect(Object.fromEntries(response.headers)).to.include({
          'content-security-policy': POLICY,
          'cache-control': 'no-store',
          'referrer-policy': 'no-referrer',
          'cross-origin-resource-policy': 'same-origin',
          'x-content-type-options': 'nosniff',
        });
        for (const name of ['set-cookie', 'access-control-allow-origin'])
          expect(response.headers.get(name), name).to.equal(null);
      }
    }
    expect((await get(view, '/s')).headers.get('location')).to.equal('/s/');
  });
});
