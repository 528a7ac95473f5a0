import { expect } from 'chai';
import { stub } from 'sinon';
import { RedsemError } from '../../src/index.js';
import type { ListSnapshot } from '../../src/web/api-types.js';
import { toNodeListener } from '../../src/web/node.js';
import { moment } from '../support/moment.js';
import { uncaughtDuring } from '../support/uncaught.js';
import { Events, get, post, serve, viewFixture } from './web-fixture.js';

describe('failures of the web view', () => {
  it('a response that cannot be sent is an error of that request alone', async () => {
    const used = new Response('read');
    await used.text();
    async function* half() {
      yield Buffer.from('half');
      throw new Error('the other half is missing');
    }
    let verdict: boolean | Response = true;
    const { view, told } = viewFixture({ authorize: () => verdict });
    const address = await serve(toNodeListener(view));
    const uncaught = await uncaughtDuring(async () => {
      for (verdict of [used, Response.error()]) {
        expect((await fetch(address)).status).to.equal(500);
      }
      verdict = new Response(ReadableStream.from(half()));
      const outcome = await fetch(address)
        .then((response) => response.text())
        .catch(String);
      expect(outcome).to.not.equal('half');
    });
    expect(uncaught).to.deep.equal([]);
    expect(told.map(String)).to.have.length(3);
    expect(String(told[2])).to.include('the other half is missing');
  });

  it('an absent server is named by every route, and a change without it is an error', async () => {
    const { clock, backend, view, told, open } = viewFixture({ actions: true });
    await open('jobs').setLimit(2);
    const isReachable = async (path: string): Promise<boolean> => {
      const response = await get(view, `/api/${path}`);
      if (!path.includes('events'))
        return ((await response.json()) as ListSnapshot).server.reachable;
      const events = new Events(response);
      // The first picture may be older than this stream.
      await events.next('list');
      const list = (await events.next('list')) as ListSnapshot;
      await events.cancel();
      return list.server.reachable;
    };
    const ask = async (): Promise<unknown[]> => {
      const page = get(view, '/').then(({ status }) => status);
      const paths = ['list', 'semaphore?name=jobs', 'events', 'events?name=jobs'];
      const shown = paths.map(isReachable);
      const changes = { limit: { limit: 3 }, pause: {}, revoke: { ticketId: 'some.1' } };
      const changed = Object.entries(changes).map(async ([kind, body]) => {
        return (await post(view, `/api/${kind}`, { name: 'jobs', ...body })).status;
      });
      const all = Promise.all([page, ...shown, ...changed]);
      await clock.advance(20_000);
      return all;
    };
    const well = [200, true, true, true, true, 200, 200, 200];
    const away = [200, false, false, false, false, 502, 502, 502];
    expect(await ask()).to.deep.equal(well);
    const calls = ['inspect', 'overview', 'listNames', 'setLimit', 'revoke'] as const;
    const stubs = calls.map((call) => stub(backend, call).rejects(new Error('ECONNREFUSED')));
    expect(await ask()).to.deep.equal(away);
    expect(told).to.have.length(3);
    expect(told.every((error) => error instanceof RedsemError)).to.equal(true);
    for (const each of stubs) each.restore();
    await clock.advance(5000);
    expect(await ask()).to.deep.equal(well);
  });

  it('a stream whose picture cannot be made ends alone', async () => {
    const { clock, view, told } = viewFixture();
    const wall = stub(clock, 'wall').callThrough();
    const broken = new Events(await get(view, '/api/events'));
    const first = broken.next('list');
    await clock.advance(0);
    expect(await first).to.have.nested.property('server.reachable', true);
    wall.throws(new Error('no time'));
    const end = broken.next('list');
    await clock.advance(1000);
    expect(await end).to.equal(undefined);
    expect(told.map(String)).to.deep.equal(['Error: no time']);
    wall.callThrough();
    const other = new Events(await get(view, '/api/events'));
    const stale = other.next('list');
    const next = stale.then(() => other.next('list'));
    await clock.advance(2000);
    expect(await stale).to.have.nested.property('server.error', 'no time');
    expect(await next).to.have.nested.property('server.reachable', true);
  });

  it('an error goes to console.error once a minute, also an error of onError itself', async () => {
    const broken = new Error('the login is broken');
    const second = new Error('the log is full');
    const throwing = (error: Error) => (): never => {
      throw error;
    };
    const authorize = throwing(broken);
    const written = stub(console, 'error');
    const silent = viewFixture({ authorize, onError: undefined });
    for (let i = 0; i < 7; i += 1) {
      await get(silent.view, '/');
      await silent.clock.advance(20_000);
    }
    const text = 'redsem: the web view failed:';
    expect(written.args).to.deep.equal(Array.from({ length: 3 }, () => [text, broken]));
    for (const onError of [() => Promise.reject(second), throwing(second)]) {
      written.resetHistory();
      const { view } = viewFixture({ authorize, onError });
      const uncaught = await uncaughtDuring(async () => {
        expect((await get(view, '/')).status).to.equal(500);
        await moment();
      });
      expect(written.args).to.deep.equal([[text, second]]);
      expect(uncaught).to.deep.equal([]);
    }
  });
});
