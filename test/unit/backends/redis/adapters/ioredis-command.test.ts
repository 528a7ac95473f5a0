import { expect } from 'chai';
import { Redis, type RedisOptions } from 'ioredis';

import { evalshaOf } from '../../../../../src/backends/redis/adapters/ioredis-command.js';

/** What a client that never connects would have sent. */
class Unsent extends Redis {
  readonly texts: unknown[] = [];

  constructor(options: RedisOptions = {}) {
    super({ ...options, lazyConnect: true });
  }

  override sendCommand(command: Parameters<Redis['sendCommand']>[0]): Promise<unknown> {
    this.texts.push(command.toWritable(this.stream));
    return Promise.resolve();
  }
}

describe('EVALSHA by ioredis', () => {
  it('is sent as ioredis itself would send it', async () => {
    const client = new Unsent();
    const [keys, args] = [
      ['p:{näme}:tickets', 'p:{näme}:info'],
      ['', '☃', 'x'.repeat(300)],
    ];
    await evalshaOf(client)?.('sha', keys, args);
    await client.evalsha('sha', 2, ...keys, ...args);
    expect(client.texts).to.have.length(2);
    expect(client.texts[0]).to.equal(client.texts[1]);
  });

  it('is left to a client that does more for a command, or whose commands are not known', () => {
    for (const option of ['keyPrefix', 'enableAutoPipelining', 'showFriendlyErrorStack'])
      expect(evalshaOf(new Unsent({ [option]: 'p' }))).to.equal(undefined);
    const other = { sendCommand: () => {}, evalsha: () => Promise.resolve(), options: {} };
    for (const client of [other, { ...other, options: undefined }, {}])
      expect(evalshaOf(client)).to.equal(undefined);
  });
});
