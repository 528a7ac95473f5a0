import { expect } from 'chai';
import { Redis, type RedisOptions } from 'ioredis';

import {
  BackendError,
  listSemaphores,
  type RedisConnection,
  type RedisTarget,
  Semaphore,
} from '../../src/index.js';
import { errorOf } from '../support/rejection.js';
import { describeWithServer } from '../support/require-server.js';

async function listed(target: RedisTarget): Promise<string[]> {
  const names: string[] = [];
  for await (const name of listSemaphores(target)) names.push(name);
  return names.toSorted();
}

/** A connection whose scripts get these replies, one after the other. */
function answering(asked: unknown[], ...replies: string[]): RedisConnection {
  const run: RedisConnection['runBySha'] = async (_script, keys, args) => {
    asked.push([...keys, ...args.slice(0, 1), ...args.slice(2, 3)].join(' '));
    return replies.shift();
  };
  return { runBySha: run, runByText: run };
}

it('names of semaphores are asked for on each master of a cluster, by no key', async () => {
  const asked: unknown[] = [];
  // Tags that the keys of a semaphore cannot have are none.
  const masters = [
    answering(asked, '5}a}%7bx}x%', `0}%7Bb%7D}${'x'.repeat(513)}`),
    answering(asked, '0}c'),
  ];
  const cluster = { ...answering(asked), eachMaster: async () => masters };
  expect(await listed(cluster)).to.deep.equal(['a', 'c', '{b}']);
  expect(asked).to.deep.equal(['0 redsem:', '5 redsem:', '0 redsem:']);
});

describeWithServer('names of semaphores, on Redis', (server) => {
  const clients: Redis[] = [];
  const open = (options: RedisOptions = {}): Redis => {
    const client = new Redis({ port: server().port, ...options });
    // The server stops before its clients do.
    client.on('error', () => {});
    clients.push(client);
    return client;
  };

  after(() => clients.forEach((client) => client.disconnect()));

  it('are found among many keys of others, page by page', async () => {
    const client = open();
    await client.mset(Array.from({ length: 3000 }, (_, i) => [`other-${i}`, '']).flat());
    await client.mset('redsem:{a}b}:info', '', 'redsem:{a%20b}:info', '', 'redsem:{a}:info:x', '');
    const names = ['%', '}|;\n', 'plain', '\u{1F600}'];
    for (const name of names) await new Semaphore(client, name, { limit: 1 }).setLimit(2);
    const commands = async () =>
      Number(/total_commands_processed:(\d+)/.exec(await client.info('stats'))?.[1]);
    const before = await commands();
    expect(await listed(client)).to.deep.equal(names.toSorted());
    expect((await commands()) - before).to.be.within(3, 20);
  });

  it('are the names under the keyPrefix of an ioredis client', async () => {
    const client = open({ keyPrefix: 'app*:' });
    await new Semaphore(client, 'under it', { limit: 1 }).setLimit(2);
    expect(await listed(client)).to.deep.equal(['under it']);
    expect(await listed(open())).not.to.include('under it');
  });

  it('cannot be listed without the right to SCAN, nor on several masters', async () => {
    const user = ['SETUSER', 'no-scan', 'reset', 'on', 'nopass', '~*', '&*', '+@all', '-scan'];
    await open().call('ACL', user);
    const client = open({ username: 'no-scan', password: 'any' });
    const error = await errorOf(listed(client), BackendError);
    expect(error.message).to.match(/^listing semaphores failed: .*scan/i);
    const none = await errorOf(listed([open(), open(), open()]), BackendError);
    expect(none.message).to.equal(
      'listing semaphores is not available: this backend cannot, nor can several independent masters; see: npx redsem help BACKEND',
    );
  });
});
