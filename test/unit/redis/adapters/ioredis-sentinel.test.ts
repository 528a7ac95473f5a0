import { EventEmitter } from 'node:events';
import { expect } from 'chai';

import { ioredisConnection } from '../../../../src/redis/adapters/ioredis.js';
import { turn } from './fake-clients.js';

/** Says what ioredis says while its status changes. */
class FakeClient extends EventEmitter {
  readonly options = { sentinels: [{}], failoverDetector: true };
  status = 'connecting';
  manuallyClosing = false;
  connects = 0;

  evalsha(): Promise<unknown> {
    return Promise.reject(new Error('Connection is closed.'));
  }

  eval(): Promise<unknown> {
    return this.evalsha();
  }

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

describe('an ioredis client that detects failovers', () => {
  let client: FakeClient;
  let isClosed: () => boolean | undefined;

  beforeEach(() => {
    client = new FakeClient();
    const connection = ioredisConnection(client);
    isClosed = () => connection.isClosed?.();
  });

  it('is connected again when it ends while it asks for the master', async () => {
    client.status = 'end';
    // Told of with the next tick, after its commands were rejected.
    expect(isClosed()).to.equal(false);
    client.emit('end');
    expect(isClosed()).to.equal(false);
    await turn();
    expect([client.connects, client.status, isClosed()]).to.deep.equal([1, 'connecting', false]);
  });

  it('is not connected for ever where that fails, until it was once ready', async () => {
    client.become('end');
    await turn();
    client.become('end');
    await turn();
    expect([client.connects, isClosed()]).to.deep.equal([1, true]);
    client.become('connecting', 'connect', 'ready', 'close', 'reconnecting', 'connecting', 'end');
    await turn();
    expect([client.connects, isClosed()]).to.deep.equal([2, false]);
  });

  for (const before of ['connect', 'close']) {
    it(`is left alone when it ends after '${before}'`, async () => {
      client.become(before);
      client.status = 'end';
      expect(isClosed()).to.equal(true);
      client.emit('end');
      await turn();
      expect([client.connects, isClosed()]).to.deep.equal([0, true]);
    });
  }

  it('is left alone when its owner has closed it', async () => {
    client.manuallyClosing = true;
    client.become('end');
    await turn();
    expect([client.connects, isClosed()]).to.deep.equal([0, true]);
  });

  it('is left to a listener of its own that connects it', async () => {
    client.on('end', () => void client.connect().catch(() => undefined));
    client.become('end');
    await turn();
    expect([client.connects, isClosed()]).to.deep.equal([1, false]);
  });

  for (const options of [{}, { sentinels: [{}] }, { sentinels: [{}], failoverDetector: false }]) {
    it(`alone is listened to, not one with ${JSON.stringify(options)}`, () => {
      const other = Object.assign(new FakeClient(), { options });
      ioredisConnection(other);
      expect(other.eventNames()).to.deep.equal([]);
    });
  }
});
