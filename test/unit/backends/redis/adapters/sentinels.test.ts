import { EventEmitter } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { useFakeTimers } from 'sinon';

import { ioredisConnection } from '../../../../../src/backends/redis/adapters/ioredis.js';
import { connectionTo, fakeClient, subscription } from './fake-clients.js';

it('a client of createSentinel subscribes by a copy of its client of the master, and by another when the topology changes', async () => {
  const clock = useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { fields, subscribers } = fakeClient('node-redis');
  const sentinel = Object.assign(new EventEmitter(), {
    evalSha: fields['evalSha'],
    eval: fields['eval'],
    setTracer: () => {},
    _execute: (_isReadonly: boolean, use: (master: unknown) => unknown) => use(fields),
  });
  const { told, close } = subscription(connectionTo('node-redis', sentinel));
  await clock.tickAsync(60_000);
  expect([told, subscribers.length]).to.deep.equal([[true], 1]);
  sentinel.emit('topology-change', { type: 'MASTER_CHANGE' });
  await clock.tickAsync(60_000);
  expect([told, subscribers.length]).to.deep.equal([[true, false, true], 2]);
  await close();
  expect(subscribers.map(({ ended }) => ended >= 1)).to.deep.equal([true, true]);
  expect(sentinel.eventNames()).to.deep.equal([]);
});

/** It emits the events of ioredis while its status changes. */
class FakeIoredis extends EventEmitter {
  options: object = { sentinels: [{}], failoverDetector: true };
  status = 'connecting';
  manuallyClosing = false;
  connects = 0;
  readonly evalsha = (): Promise<unknown> => Promise.resolve();
  readonly eval = (): Promise<unknown> => Promise.resolve();

  connect(): Promise<unknown> {
    this.connects += 1;
    this.become('connecting');
    return Promise.reject(new Error('Connection is closed.'));
  }

  become(...statuses: string[]): void {
    for (const status of statuses) {
      this.status = status;
      this.emit(status);
    }
  }
}

it('an ioredis client that detects failovers is connected again when it ends while it asks for the master, once until it was ready', async () => {
  const client = new FakeIoredis();
  const connection = ioredisConnection(client);
  client.status = 'end';
  // ioredis reports it with the next tick, after it has rejected its commands.
  expect(connection.isClosed?.()).to.equal(false);
  client.emit('end');
  await turn();
  expect([client.connects, client.status]).to.deep.equal([1, 'connecting']);
  expect(connection.isClosed?.()).to.equal(false);
  client.become('end');
  await turn();
  expect([client.connects, connection.isClosed?.()]).to.deep.equal([1, true]);
  client.become('connecting', 'connect', 'ready', 'close', 'reconnecting', 'connecting', 'end');
  await turn();
  expect([client.connects, connection.isClosed?.()]).to.deep.equal([2, false]);
});

it('an ioredis client is left alone when it ends after it was connected or closed, and to its own listener; a client that detects no failover is not listened to', async () => {
  for (const status of ['connect', 'close', 'manuallyClosing', 'its own listener']) {
    const client = new FakeIoredis();
    const connection = ioredisConnection(client);
    const isOwn = status === 'its own listener';
    if (isOwn) client.on('end', () => void client.connect().catch(() => undefined));
    else if (status === 'manuallyClosing') client.manuallyClosing = true;
    else client.become(status);
    client.become('end');
    await turn();
    const ends = [client.connects, connection.isClosed?.()];
    expect(ends, status).to.deep.equal(isOwn ? [1, false] : [0, true]);
  }
  for (const options of [{}, { sentinels: [{}] }, { sentinels: [{}], failoverDetector: false }]) {
    const other = Object.assign(new FakeIoredis(), { options });
    ioredisConnection(other);
    expect(other.eventNames()).to.deep.equal([]);
  }
});
