import { expect } from 'chai';
import { Redis } from 'ioredis';
import { useFakeTimers } from 'sinon';
import { connectBy } from '../../src/cli/connect.js';
import type { ClientAdapter, Server } from '../../src/cli/server.js';
import { parseServerUrl } from '../../src/cli/server-url.js';

/** A client package whose attempts to connect come out as told, and what was done with its clients. */
class FakePackage {
  readonly events: string[] = [];
  readonly #outcomes: readonly (() => Promise<unknown>)[];
  #made = 0;

  constructor(outcomes: readonly (() => Promise<unknown>)[]) {
    this.#outcomes = outcomes;
  }

  get adapter(): ClientAdapter {
    return {
      create: ({ onError }) => {
        const [number, outcome] = [this.#made + 1, this.#outcomes[this.#made]];
        this.#made = number;
        this.events.push(`create ${number}`);
        const server: Server = {
          target: new Redis({ lazyConnect: true }),
          keys: () => {
            throw new Error('not asked for');
          },
          fields: () => Promise.resolve([]),
          disconnect: () => this.events.push(`disconnect ${number}`),
        };
        const connect = async (): Promise<unknown> => {
          return outcome?.().catch((error: unknown) => {
            onError(error);
            // Some say no more than this.
            throw new Error('Connection is closed.');
          });
        };
        return { server, connect };
      },
    };
  }
}

const failing = (error: Error) => async () => {
  throw error;
};
const withCode = (code: string): Error => Object.assign(new Error(`connect ${code}`), { code });
const silent = () => new Promise(() => undefined);

function connecting(fake: FakePackage, tls = false): Promise<unknown> {
  const addresses = [parseServerUrl('--url', 'redis://example.org:7000')] as const;
  const settings = { addresses, tls: tls ? {} : undefined, cluster: false, client: undefined };
  return connectBy(fake.adapter, settings, Infinity).then(
    () => 'connected',
    (error: unknown) => String(error),
  );
}

describe('connecting', () => {
  it('tries again where only the time of a client was over', async () => {
    const fake = new FakePackage([
      failing(new Error('Connection timeout')),
      failing(withCode('ETIMEDOUT')),
      failing(new AggregateError([withCode('ECONNREFUSED'), withCode('ETIMEDOUT')])),
      () => Promise.resolve(),
    ]);
    expect(await connecting(fake)).to.equal('connected');
    const tries = ['create 1', 'disconnect 1', 'create 2', 'disconnect 2', 'create 3'];
    expect(fake.events).to.deep.equal([...tries, 'disconnect 3', 'create 4']);
  });

  it('gives up at once where the server is not there, and says why', async () => {
    const fake = new FakePackage([failing(withCode('ECONNREFUSED'))]);
    expect(await connecting(fake)).to.match(/cannot connect to example.org:7000: .*ECONNREFUSED$/);
    expect(fake.events).to.deep.equal(['create 1', 'disconnect 1']);
  });

  it('gives up where nobody answers, and asks about the port where that may be it', async () => {
    const clock = useFakeTimers();
    const fakes = [new FakePackage([silent]), new FakePackage([silent])];
    const outcomes = fakes.map((fake, i) => connecting(fake, i === 1));
    await clock.tickAsync(5000);
    const [plain, tls] = await Promise.all(outcomes);
    expect(plain).to.match(/: connecting: no answer within 5000 ms$/);
    expect(tls).to.match(/: connecting: no answer within 5000 ms \(is it a TLS port\?\)$/);
    expect(fakes[0]?.events).to.deep.equal(['create 1', 'disconnect 1']);
  });
});
