import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import type { Detail, ListSnapshot } from '../../src/web/api-types.js';
import { webView } from '../../src/web/index.js';
import { pageAssets } from '../../src/web/page/assets.js';
import { MemoryBackend, Semaphore } from '../../src/index.js';
import { Events, get, post, shown, viewFixture } from './web-fixture.js';

describe('the web view', () => {
  it('serves the page, its style and its script: 40 kB at most, compressed, for a phone', async () => {
    const { view } = viewFixture({ basePath: '/ops/semaphores/' });
    for (const [path, type, text] of [
      ['', 'text/html', '<!doctype html'],
      ['style.css', 'text/css', '{'],
      ['app.js', 'text/javascript', 'api/events'],
    ] as const) {
      const response = await get(view, `/ops/semaphores/${path}`);
      expect(response.status).to.equal(200);
      expect(response.headers.get('content-type')).to.equal(`${type}; charset=utf-8`);
      expect((await response.text()).toLowerCase()).to.include(text);
    }
    const head = await view(new Request('http://view.example/ops/semaphores/', { method: 'HEAD' }));
    expect([head.status, head.body]).to.deep.equal([200, null]);
    const sizes = Object.values(pageAssets).map((text) => gzipSync(text).length);
    expect(sizes.reduce((sum, size) => sum + size)).to.be.below(40 * 1024);
  });

  it('has a page with every element that its script asks for, and no markup made of any text', () => {
    const folder = new URL('../../src/web/page/app/', import.meta.url);
    const files = readdirSync(folder).filter((file) => file.endsWith('.ts'));
    const script = files.map((file) => readFileSync(new URL(file, folder), 'utf8')).join('\n');
    expect(script).to.not.match(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser/);
    const ids = [...pageAssets['index.html'].matchAll(/\sid="([\w-]+)"/g)].map(([, id]) => id);
    const wanted = [...script.matchAll(/\bbyId\('([\w-]+)'\)/g)].map(([, id]) => id);
    expect(wanted).to.include('semaphores');
    expect(ids).to.include.members(wanted);
  });

  it('shows slots, the queue in its order, shares of groups, the last minutes, and losses', async () => {
    const { clock, view, open } = viewFixture();
    const jobs = open('jobs', 3, 'worker 1');
    const { id, fencingToken } = await jobs.acquire({ permits: 2 });
    const later = [{ group: 'a' }, { group: 'a' }, { group: 'b', weight: 3 }, { priority: 2 }];
    for (const order of later) void open('jobs', 3, 'worker 2').acquire({ permits: 2, ...order });
    await clock.advance(2500);
    const detail = await shown<Detail>(view, 'semaphore?name=jobs');
    const { row, slots, queue, groups, history, losses, budgets } = detail;
    expect(row).to.include({ name: 'jobs', limit: 3, held: 2, waiting: 4 });
    const times = { heldFor: 2500, expiresIn: 27_500 };
    const ticket = { holderId: id, fencingToken, label: 'worker 1', ...times };
    expect(slots).to.deep.equal([0, 1].map((slot) => ({ slot, ...ticket })));
    const waiter = { permits: 2, label: 'worker 2', waitingFor: 2500 };
    for (const [position, { group = '', priority = 0, ...each }] of queue.entries()) {
      expect(each).to.include({ ...waiter, position });
      expect(`${group} ${priority}`).to.equal([' 2', 'b 0', 'a 0', 'a 0'][position]);
    }
    expect(groups).to.deep.equal([
      { group: '', held: 2, waiting: 1, share: 1 },
      { group: 'b', held: 0, waiting: 1, share: 0 },
      { group: 'a', held: 0, waiting: 2, share: 0 },
    ]);
    expect(history.at(-1)).to.deep.include({ held: 2, waiting: 4, limit: 3 });
    expect([losses, budgets]).to.deep.equal([[], {}]);
    await jobs.revoke(id);
    await clock.advance(1000);
    const after = await shown<Detail>(view, 'semaphore?name=jobs');
    expect(after.losses).to.deep.equal([{ reason: 'revoked', count: 1 }]);
    for (const query of ['', `?name=${'x'.repeat(513)}`])
      expect((await get(view, `/api/semaphore${query}`)).status).to.equal(400);
  });

  it('shows a queue of any length: its first requests and how many there are of each group', async () => {
    const { backend, view } = viewFixture({ names: ['long'] });
    const { inspect } = backend;
    const count = 20_000;
    const one = { id: 'c.0', permits: 1, priority: 1, weight: 1, waitingFor: 9, label: '' };
    const waiters = Array.from({ length: count }, (_, position) => {
      return { ...one, position, group: 'ab'.charAt(position % 2) };
    });
    const long: typeof inspect = async (call) => {
      return { ...(await inspect(call)), waiting: count, waiters };
    };
    Object.assign(backend, { inspect: long });
    const { queue, groups } = await shown<Detail>(view, 'semaphore?name=long');
    expect(queue).to.have.length(5000);
    const half = { held: 0, waiting: count / 2, share: 0.5 };
    expect(groups).to.deep.equal(['a', 'b'].map((group) => ({ group, ...half })));
  });

  it('shows how much of each budget is used and of its limit each group holds, and no limit without one', async () => {
    const { backend, clock, view } = viewFixture();
    const tokens = { amount: 100, per: 1000, burst: 50 };
    const budgets = { tokens, dollars: { amount: 9, per: 60_000 } };
    const rate = { permits: 9, per: 1000, burst: 9 };
    const options = { limit: Infinity, groupLimit: 2, rate, budgets };
    const semaphore = new Semaphore(backend, 'llm', options);
    const cost = { tokens: 60, dollars: 1 };
    await semaphore.acquire({ group: 'a', permits: 2, cost });
    await semaphore.acquire({ cost: { tokens: 0 } });
    void semaphore.acquire({ group: 'a' });
    await clock.advance(0);
    const detail = await shown<Detail>(view, 'semaphore?name=llm');
    expect(detail.groups).to.deep.equal([
      { group: 'a', held: 2, limit: 2, waiting: 1, share: 1 },
      { group: '', held: 1, limit: 2, waiting: 0, share: 0 },
    ]);
    expect(detail.budgets).to.deep.equal({
      tokens: { ...tokens, from: 'caller', used: 60 },
      dollars: { amount: 9, per: 60_000, burst: 9, from: 'caller', used: 1 },
    });
    expect(detail.row).to.deep.include({ limit: null, limitFrom: 'caller', held: 3, over: 0 });
  });

  it('lists all by pressure, with the permits over the limit and how long the first request waits', async () => {
    const { clock, view, open } = viewFixture({ actions: true, names: ['not yet used'] });
    const [busy, half] = [open('busy', 3), open('half', 2)];
    for (const each of [busy, busy, half]) await each.acquire();
    await busy.setLimit(1);
    void busy.acquire();
    await clock.advance(1500);
    const list = await shown<ListSnapshot>(view, 'list');
    expect(list).to.deep.include({ at: clock.wall(), actions: true, total: 3 });
    expect(list.server).to.deep.equal({ reachable: true, lastOkAt: clock.wall() });
    const columns = 'name limit limitFrom held waiting over oldestWait pressure';
    expect(Object.keys(list.semaphores[0] ?? {}).join(' ')).to.equal(columns);
    expect(list.semaphores.map((row) => Object.values(row) as unknown[])).to.deep.equal([
      ['busy', 1, 'setLimit', 2, 1, 1, 1500, 3],
      ['half', 2, 'caller', 1, 0, 0, null, 0.5],
      ['not yet used', null, 'none', 0, 0, 0, null, 0],
    ]);
  });

  it('sends each new picture as an event, and ends when the request is aborted', async () => {
    const { clock, view, open } = viewFixture();
    const { timers } = clock;
    const gone = new AbortController();
    const response = await view(new Request('http://view.example/api/events?name=jobs', gone));
    expect(response.headers.get('content-type')).to.equal('text/event-stream; charset=utf-8');
    const events = new Events(response);
    const next = async (): Promise<Detail> => {
      const event = events.next('detail');
      await clock.advance(1000);
      return (await event) as Detail;
    };
    expect((await next()).row.held).to.equal(0);
    const handle = await open('jobs', 2).acquire();
    let seen = await next();
    while (seen.slots.length === 0) seen = await next();
    expect(seen.slots[0]).to.include({ holderId: handle.id });
    gone.abort();
    while ((await events.next('detail')) !== undefined);
    await handle.release();
    await clock.advance(20_000);
    expect(clock.timers).to.equal(timers);
  });

  it('sets a limit, pauses and revokes, by the limit of other processes', async () => {
    const { view, open } = viewFixture({ actions: true });
    const jobs = open('jobs', 2);
    const warnings: unknown[] = [];
    jobs.on('warning', (warning) => warnings.push(warning));
    const one = await jobs.acquire();
    await jobs.acquire();
    const waiting = jobs.acquire();
    const change = async (kind: string, body: object): Promise<unknown> =>
      (await post(view, `/api/${kind}`, { name: 'jobs', ...body })).json();
    expect(await change('revoke', { ticketId: one.id })).to.deep.equal({ changed: true });
    expect((await waiting).slot).to.equal(one.slot);
    expect(await change('revoke', { ticketId: 'nobody.1' })).to.deep.equal({ changed: false });
    expect(await change('pause', {})).to.deep.equal({ changed: true });
    expect(await jobs.inspect()).to.include({ limit: 0, limitFrom: 'setLimit', held: 2 });
    expect(await change('limit', { limit: 5 })).to.deep.equal({ changed: true });
    expect(await jobs.inspect()).to.include({ limit: 5, limitFrom: 'setLimit' });
    expect(warnings).to.deep.equal([]);
  });

  it('refuses wrong options at once', () => {
    for (const [options, message] of [
      [{ action: true }, /^action: .*did you mean actions\?/],
      [{ actions: 1 }, /^actions: expected true or false, got 1 \(number\)/],
      [{ token: 'short' }, /^token: expected 16 .* got another text;/],
      [{ token: 'with a space in the midst of it' }, /^token: expected/],
      [{ token: 7 }, /^token: expected a string/],
      [{ basePath: 'semaphores' }, /^basePath: expected a path/],
      [{ basePath: '//evil' }, /^basePath: expected a path/],
      [{ authorize: true }, /^authorize: expected a function/],
      [{ hosts: 'localhost' }, /^hosts: expected an array of strings/],
      [{ onError: 'log' }, /^onError: expected a function/],
      [{ origin: 7 }, /^origin: expected a string/],
      [{ origin: 'ops.example' }, /^origin: expected a scheme and a host such as https/],
      [{ origin: 'ftp://ops.example' }, /^origin: expected a scheme/],
      [{ origin: 'https://ops.example/x' }, /^origin: expected a scheme/],
      [{ names: [''] }, /^name: expected 1 to 512 bytes/],
      [{ prefix: '{}' }, /^prefix: expected no braces/],
    ] as [object, RegExp][]) {
      expect(() => webView(new MemoryBackend(), options)).to.throw(message);
    }
    expect(() => webView('redis://' as never)).to.throw(/^target: expected a client/);
  });
});
