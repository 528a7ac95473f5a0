import { expect } from 'chai';
import { ManualClock, RedsemError, Semaphore } from '../../src/index.js';
import { webView } from '../../src/web/index.js';
import { toNodeListener } from '../../src/web/node.js';
import { eventually } from '../support/eventually.js';
import { openClient } from '../support/open-client.js';
import type { TestServer } from '../support/redis-server.js';
import { describeWithServer } from '../support/require-server.js';
import { uncaughtDuring } from '../support/uncaught.js';
import { endLooks, Events, withServer } from './web-fixture.js';

const SHOWN = ['api/list', 'api/semaphore?name=jobs', 'api/events', 'api/events?name=jobs'];
const CHANGES = {
  limit: { name: 'jobs', limit: 3 },
  pause: { name: 'jobs' },
  revoke: { name: 'jobs', ticketId: 'some.1' },
};

const AWAY = {
  hangs: (server: TestServer) => Promise.resolve(server.pause()),
  'is gone': (server: TestServer) => server.kill(),
};
const BACK = {
  hangs: (server: TestServer) => Promise.resolve(server.resume()),
  'is gone': (server: TestServer) => server.restart(),
};

/** What became of each route: its status, or whether the reply says that the server was reached. */
interface Outcomes {
  readonly page: number;
  readonly shown: readonly boolean[];
  readonly changes: readonly number[];
}

/** Requests on every route at once; the clock moves until all are answered. */
async function askAll(address: string, clock: ManualClock, step = 250): Promise<Outcomes> {
  const page = fetch(address).then(({ status }) => status);
  const shown = Promise.all(SHOWN.map((path) => reachedBy(address + path)));
  const changes = Promise.all(
    Object.entries(CHANGES).map(async ([kind, body]) => {
      const response = await fetch(`${address}api/${kind}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin: new URL(address).origin },
        body: JSON.stringify(body),
      });
      return response.status;
    }),
  );
  const all = Promise.all([page, shown, changes]);
  const [one, two, three] = await whileMoving(clock, step, all);
  return { page: one, shown: two, changes: three };
}

/** Slowly: on the clock of the test a server that is busy must not look like one that is away. */
async function untilAllWell(address: string, clock: ManualClock): Promise<void> {
  await eventually(async () => {
    expect(await askAll(address, clock, 10)).to.deep.equal(ALL_WELL);
  });
}

/** Lets time pass, in steps, until `outcome` is there. */
async function whileMoving<T>(clock: ManualClock, step: number, outcome: Promise<T>): Promise<T> {
  let isOver = false;
  void outcome.finally(() => (isOver = true)).catch(() => undefined);
  await eventually(async () => {
    await clock.advance(step);
    return isOver;
  });
  return outcome;
}

async function reachedBy(url: string): Promise<boolean> {
  const response = await fetch(url);
  expect(response.status, url).to.equal(200);
  if (!url.includes('events')) return reachable(await response.json());
  const events = new Events(response);
  const list = await events.next('list');
  await events.cancel();
  return reachable(list);
}

function reachable(reply: unknown): boolean {
  return (reply as { server: { reachable: boolean } }).server.reachable;
}

const ALL_WELL: Outcomes = { page: 200, shown: SHOWN.map(() => true), changes: [200, 200, 200] };
const ALL_AWAY: Outcomes = { page: 200, shown: SHOWN.map(() => false), changes: [502, 502, 502] };

describeWithServer('the web view of a Redis', (server) => {
  for (const [kind, way] of [
    ['redis', 'hangs'],
    ['ioredis', 'is gone'],
  ] as const) {
    it(`that ${way}: every route answers before, meanwhile and after (${kind})`, async () => {
      const client = await openClient(kind, server().url);
      const clock = endLooks(new ManualClock());
      const told: unknown[] = [];
      const prefix = `${kind}-${way === 'hangs' ? 'hung' : 'gone'}`;
      const options = { prefix, clock, actions: true, onError: (e: unknown) => told.push(e) };
      const view = webView(client.target, options);
      await using jobs = new Semaphore(client.target, 'jobs', { limit: 2, prefix });
      await jobs.setLimit(2);
      const uncaught = await uncaughtDuring(() =>
        withServer(toNodeListener(view), async (address) => {
          const root = `${address}/`;
          await untilAllWell(root, clock);
          told.length = 0;
          const inFlight = askAll(root, clock);
          await AWAY[way](server());
          const { changes } = await inFlight;
          expect(changes.filter((status) => status !== 200 && status !== 502)).to.deep.equal([]);
          await eventually(async () => {
            return !(await whileMoving(clock, 1000, reachedBy(`${root}api/list`)));
          });
          const failed = changes.filter((status) => status === 502).length;
          expect(told).to.have.length(failed);
          expect(await askAll(root, clock)).to.deep.equal(ALL_AWAY);
          expect(await askAll(root, clock)).to.deep.equal(ALL_AWAY);
          expect(told).to.have.length(failed + 6);
          expect(told.every((error) => error instanceof RedsemError)).to.equal(true);
          await BACK[way](server());
          await untilAllWell(root, clock);
        }),
      );
      expect(uncaught).to.deep.equal([]);
      await client.close();
    });
  }
});
