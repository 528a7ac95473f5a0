import { expect } from 'chai';

import { type Handle, type HandleData, Semaphore } from '../../src/index.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { leftKeys } from './holder-count.js';
import { type ClientKind, type OpenClient, openClient } from '../../test/support/open-client.js';
import { expiryOf, liveTickets } from './server-records.js';
import { TicketProcess } from './ticket-process.js';
import { eventually } from '../../test/support/eventually.js';
import { LATE_MS, timed } from '../support/timed.js';

const ttl = 2500;
const extendEvery = 300;
/** For the server and the other process, which other load may hold up, in milliseconds. */
const slack = 1000;

describeWithServer('a hand-over between processes', (server) => {
  const processes: TicketProcess[] = [];
  let client: OpenClient | undefined;

  afterEach(async () => {
    for (const { worker } of processes.splice(0)) worker.kill();
    await client?.close();
    client = undefined;
  });

  async function start(name: string, ...kinds: ClientKind[]): Promise<TicketProcess[]> {
    const { url } = server();
    const options = { limit: 1, ttl, extendEvery };
    const started = await Promise.all(
      kinds.map((kind) => TicketProcess.start({ kind, url, name, options })),
    );
    processes.push(...started);
    return started;
  }

  async function waiterHere(name: string): Promise<{ sem: Semaphore; waiting: Promise<Handle> }> {
    client = await openClient('redis', server().url);
    const sem = new Semaphore(client.target, name, { limit: 1, ttl });
    const waiting = sem.acquire(20_000);
    waiting.catch(() => undefined);
    await eventually(async () => (await sem.inspect()).waiting === 1, 'it waits');
    return { sem, waiting };
  }

  /** Its ticket was extended twice since now. */
  async function untilExtended(name: string, id: string): Promise<void> {
    const before = (await expiryOf(server(), name, id)) ?? Infinity;
    await eventually(async () => {
      const expiry = await expiryOf(server(), name, id);
      return expiry !== undefined && expiry > before + ttl * 1000;
    }, 'it is extended');
  }

  for (const [from, to] of [
    ['redis', 'ioredis'],
    ['ioredis', 'redis'],
  ] as const) {
    it(`goes on in the second, and ends in the first (${from} to ${to})`, async () => {
      const name = `over to ${to}`;
      const [first, second] = (await start(name, from, to)) as [TicketProcess, TicketProcess];
      const ticket = await first.ask('acquire', 5000);
      const adopted = await second.ask('adopt', ticket);
      expect(adopted).to.deep.include({ name, slots: ticket.slots });
      expect(adopted.fencingToken).to.be.above(ticket.fencingToken);
      expect(await first.nextLoss()).to.deep.equal({ id: ticket.id, reason: 'missing' });
      expect(await first.ask('release', ticket.id)).to.equal(false);
      first.worker.kill();
      await first.worker.exited;
      await untilExtended(name, adopted.id);
      expect(await second.ask('held', adopted.id)).to.equal(true);
      expect(await liveTickets(server(), name)).to.equal(1);
      expect(await second.ask('release', adopted.id)).to.equal(true);
      expect(await leftKeys(server(), name)).to.deep.equal(['meta']);
    });

    it(`works when the first was killed before it (${from} to ${to})`, async () => {
      const name = `killed before ${to}`;
      const [first, second] = (await start(name, from, to)) as [TicketProcess, TicketProcess];
      const ticket = await first.ask('acquire', 5000);
      first.worker.kill();
      await first.worker.exited;
      const adopted = await second.ask('adopt', ticket);
      await untilExtended(name, adopted.id);
      expect(await second.ask('release', adopted.id)).to.equal(true);
    });

    it(`to one that is killed ends with its ttl (${from} to ${to})`, async () => {
      const name = `killed after ${to}`;
      const [first, second] = (await start(name, from, to)) as [TicketProcess, TicketProcess];
      const ticket = await first.ask('acquire', 5000);
      const { sem, waiting } = await waiterHere(name);
      const adopted = await second.ask('adopt', ticket);
      await first.nextLoss();
      let expiry = 0;
      const { value, took } = await timed(async () => {
        second.worker.kill();
        await second.worker.exited;
        expiry = (await expiryOf(server(), name, adopted.id)) ?? Infinity;
        return waiting;
      });
      expect(took).to.be.below(ttl + LATE_MS + slack);
      // A token is the time of its grant in microseconds: not before the ticket was over.
      expect(value.fencingToken).to.be.at.least(expiry);
      await sem.close();
    });
  }

  it('of one ticket to two at the same time leaves it with one of them', async () => {
    const name = 'two adopters';
    const [first, ...others] = (await start(name, 'redis', 'ioredis', 'redis')) as [
      TicketProcess,
      TicketProcess,
      TicketProcess,
    ];
    for (let round = 0; round < 3; round += 1) {
      const ticket = await first.ask('acquire', 5000);
      const adopted = await Promise.all(others.map((other) => other.ask('adopt', ticket)));
      const later = (adopted[0]?.fencingToken ?? 0) > (adopted[1]?.fencingToken ?? 0) ? 0 : 1;
      const [winner, loser] = [others[later], others[1 - later]];
      const [kept, lost] = [adopted[later], adopted[1 - later]];
      expect(await loser?.nextLoss()).to.deep.equal({ id: lost?.id, reason: 'missing' });
      expect(await loser?.ask('release', lost?.id ?? '')).to.equal(false);
      expect(await first.nextLoss()).to.deep.equal({ id: ticket.id, reason: 'missing' });
      await untilExtended(name, kept?.id ?? '');
      expect(await winner?.ask('release', kept?.id ?? '')).to.equal(true);
    }
    const losses = others.flatMap(({ worker }) =>
      worker.messages.filter(({ type }) => type === 'lost'),
    );
    expect(losses).to.have.lengthOf(3);
  });

  it('to and fro, with one who waits: nobody gets in between', async () => {
    const name = 'to and fro';
    const pair = (await start(name, 'redis', 'ioredis')) as [TicketProcess, TicketProcess];
    let ticket: HandleData = await pair[0].ask('acquire', 5000);
    const { sem, waiting } = await waiterHere(name);
    let served = false;
    const handle = waiting.then((got) => {
      served = true;
      return got;
    });
    const tokens = [ticket.fencingToken];
    for (let turn = 1; turn <= 20; turn += 1) {
      ticket = await (turn % 2 === 1 ? pair[1] : pair[0]).ask('adopt', ticket);
      tokens.push(ticket.fencingToken);
      expect(await liveTickets(server(), name)).to.equal(1);
    }
    expect(tokens).to.deep.equal(tokens.toSorted((a, b) => a - b));
    expect(new Set(tokens).size).to.equal(21);
    expect(served).to.equal(false);
    expect(await sem.inspect()).to.include({ held: 1, waiting: 1 });
    expect(await pair[0].ask('release', ticket.id)).to.equal(true);
    expect((await handle).fencingToken).to.be.above(ticket.fencingToken);
    await sem.close();
    expect(await leftKeys(server(), name)).to.deep.equal(['meta']);
  });
});
