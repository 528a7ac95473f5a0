import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import type { NodeListener } from '../../src/web/node.js';
import { toNodeListener } from '../../src/web/node.js';
import { Events, viewFixture } from './web-fixture.js';

async function withServer(
  listener: NodeListener,
  body: (address: string) => Promise<void>,
): Promise<void> {
  const server: Server = createServer((request, response) => listener(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    await body(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

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
      const change = await fetch(`${address}/api/limit`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin: address },
        body: JSON.stringify({ name: 'jobs', limit: 3 }),
      });
      expect(await change.json()).to.deep.equal({ changed: true });
      expect(await open('jobs').inspect()).to.include({ limit: 3, limitFrom: 'setLimit' });
      gone.abort();
    });
    await clock.advance(20_000);
    expect(clock.timers).to.equal(timers);
  });

  it('gives an error of authorize to the next in line, or answers 500', async () => {
    const error = new Error('the login is broken');
    const { view } = viewFixture({ authorize: () => Promise.reject(error) });
    const listener = toNodeListener(view);
    await withServer(listener, async (address) => {
      expect((await fetch(address)).status).to.equal(500);
    });
    let passed: unknown;
    const passing: NodeListener = (request, response) =>
      listener(request, response, (given) => {
        passed = given;
        response.end();
      });
    await withServer(passing, async (address) => {
      await fetch(address);
      expect(passed).to.equal(error);
    });
  });
});
