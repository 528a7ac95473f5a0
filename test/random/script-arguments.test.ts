import { expect } from 'chai';
import * as fc from 'fast-check';

import { type RedisConnection, Semaphore } from '../../src/index.js';
import { keysOf } from '../../src/redis/keys.js';
import {
  acquireScript,
  adoptScript,
  extendScript,
  inspectScript,
  releaseScript,
  revokeScript,
} from '../../src/redis/scripts.js';
import { itThroughBothClients } from '../support/client-bench.js';
import { describeWithServer } from '../support/require-server.js';
import { check } from './reproducible.js';

const LIMIT = 2;
/** Milliseconds: tickets that a wrong call leaves must be gone soon. */
const ttl = fc.constantFrom('0', '1', '5', '', '-1', 'x', '0x10', '1e3', '1.5');
const number = fc.oneof(
  fc.constantFrom('', '0', '1', '-1', '1.5', 'nan', 'inf', '-inf', '1e300', 'x', '0x7', '\0'),
  fc.integer().map(String),
);
/** Not without end: a script loops over its requests. */
const counts = fc.oneof(fc.integer({ min: -5, max: 5 }).map(String), fc.constantFrom('', 'x'));
const limit = fc.oneof(
  { arbitrary: fc.constant(String(LIMIT)), weight: 3 },
  { arbitrary: number, weight: 1 },
);
/** Of the form that every client makes: the scripts read off it whom to tell and how many permits to give. */
const id = fc
  .tuple(fc.constantFrom('a', 'b', 'c'), fc.nat(5), fc.constantFrom('', '', '.2', '.3', '~a.1'))
  .map(([client, made, rest]) => `${client}.${made}${rest}`);

const SCRIPTS = {
  acquire: acquireScript,
  extend: extendScript,
  release: releaseScript,
  adopt: adoptScript,
  revoke: revokeScript,
  inspect: inspectScript,
} as const;

type Operation = keyof typeof SCRIPTS;

interface ScriptCall {
  readonly operation: Operation;
  readonly args: readonly string[];
}

const ids = fc.array(id, { minLength: 1, maxLength: 3 }).map((list) => list.join(' '));
const label = fc.stringMatching(/^[\w.:-]{0,10}$/);
/** How many requests were queued before, whether any asks for more than one permit, and which only try. */
const kinds = fc.oneof(
  fc.constantFrom('', '0 0 t', '1 0 ', '1 1 wt', '0 1 ', 'x', '0 0 wtx'),
  fc.tuple(counts, number).map(([known, weighted]) => `${known} ${weighted} w`),
);

/** Arguments of the right number and form. */
const acquires = fc.tuple(label, ttl, number, kinds, ids, number);
const plainAcquires = fc
  .tuple(label, ttl, ids)
  .map(([name, life, list]) => [name, life, '', '', list]);

/** Arguments of the right number and form, and of any number and form. */
const calls: fc.Arbitrary<ScriptCall> = fc.oneof(
  call('acquire', acquires),
  call('acquire', plainAcquires),
  call('extend', fc.tuple(ttl, ids)),
  call('extend', fc.tuple(ttl, ids, number)),
  call('release', fc.tuple(ids)),
  call('adopt', fc.tuple(label, ttl, id, id, number)),
  call('revoke', fc.tuple(id)),
  call('inspect', fc.tuple(number, number, number)),
  ...(['extend', 'release', 'revoke', 'inspect'] as const).map((operation) =>
    call(operation, fc.array(fc.string({ unit: 'binary' }), { maxLength: 4 })),
  ),
);

function call(operation: Operation, all: fc.Arbitrary<readonly string[]>) {
  return all.map((args): ScriptCall => ({ operation, args }));
}

describeWithServer('scripts with random arguments', (server) => {
  itThroughBothClients('give an error or a reply, and the semaphore still works', async (bench) => {
    const { connection, target } = await bench.connect(server().port);
    let semaphores = 0;
    let answered = 0;
    const programs = fc.array(fc.tuple(calls, limit), { minLength: 1, maxLength: 6 });
    const property = fc.asyncProperty(programs, async (program) => {
      const name = `arguments-${bench.kind}-${(semaphores += 1)}`;
      const keys = keysOf({ prefix: 'redsem', name });
      for (const [{ operation, args }, given] of program) {
        const common = operation === 'inspect' ? [given] : [given, 'redsem:inbox:a'];
        const reply = await connection
          .runByText(SCRIPTS[operation].text, keys, [...common, ...args])
          .catch((error: unknown) => error);
        const fine = reply instanceof Error || /^\d{16}[^|]*\|/.test(String(reply));
        expect(fine, `reply ${String(reply)}`).to.equal(true);
        if (!(reply instanceof Error)) answered += 1;
      }
      const options = { limit: LIMIT, retry: { max: 10 } };
      await expectWorks(new Semaphore(target, name, options), connection);
    });
    await check(property, 60);
    // Arguments in another order than the scripts want would all be refused, and prove nothing.
    expect(answered).to.be.at.least(30);
  });
});

/** Whatever was there before: once that is given back every permit can be had, no more, and nothing stays. */
async function expectWorks(semaphore: Semaphore, connection: RedisConnection): Promise<void> {
  const { name } = semaphore;
  await semaphore.setLimit(LIMIT);
  const { holders, waiters } = await semaphore.inspect();
  const left = [...holders, ...waiters].map((entry) => entry.id);
  const keys = keysOf({ prefix: 'redsem', name });
  const args = [String(LIMIT), 'redsem:inbox:nobody', ['nobody.1', ...left].join(' ')];
  await connection.runByText(releaseScript.text, keys, args);
  const handles = [await semaphore.acquire(2500), await semaphore.acquire(2500)];
  expect(handles.map(({ slot }) => slot)).to.have.members([0, 1]);
  expect(await semaphore.tryAcquire()).to.equal(null);
  for (const handle of handles) expect(await handle.release()).to.equal(true);
  const { held, waiting } = await semaphore.inspect();
  expect({ held, waiting }).to.deep.equal({ held: 0, waiting: 0 });
  await semaphore.close();
}
