import { expect } from 'chai';

import { BackendError, RedsemError } from '../../src/index.js';
import { describeWithServer } from '../../test/support/require-server.js';
import {
  type ClientBench,
  itThroughBothClients,
  newName,
} from '../../test/support/client-bench.js';
import type { FaultyConnection } from '../../test/support/faulty-connection.js';
import { leastRights } from '../../test/support/least-rights.js';
import { StoredSemaphore } from '../../test/support/stored-semaphore.js';
import { expectUsable } from './usable.js';
import { eventually } from '../../test/support/eventually.js';
import { reasonOf } from '../../test/support/rejection.js';

const refusals: readonly string[] = [
  'MISCONF Redis is configured to save RDB snapshots, but it is currently unable to persist on disk.',
  "NOPERM this user has no permissions to run the 'evalsha' command",
  'NOAUTH Authentication required.',
  "READONLY You can't write against a read only replica.",
  "OOM command not allowed when used memory > 'maxmemory'.",
];

const login = { username: 'sometimes', password: 'secret' };

describeWithServer('a server that refuses to write for a while', (server) => {
  for (const refusal of refusals) {
    const title = refusal.slice(0, refusal.indexOf(' '));
    itThroughBothClients(
      `keeps nothing of what was given up meanwhile: ${title}`,
      async (bench) => {
        const { connection, semaphore, stored } = await prepare(bench);
        const holder = await semaphore.acquire();
        const controller = new AbortController();
        const aborted = reasonOf(semaphore.acquire({ signal: controller.signal }));
        const late = reasonOf(semaphore.acquire(400));
        await eventually(async () => expect(await stored.queue()).to.have.length(2));
        connection.fault = () => Promise.reject(new Error(refusal));
        const fresh = reasonOf(semaphore.acquire(300));
        controller.abort('enough');
        const releasing = holder.release().catch((error: unknown) => error);
        expect(await aborted).to.equal('enough');
        for (const rejected of [fresh, late]) expect(await rejected).to.be.instanceOf(RedsemError);
        await eventually(() => expect(connection.of('release').length).to.be.above(2));
        expect(await stored.queue()).to.have.length(2);
        connection.fault = undefined;
        await stored.expectEmpty();
        // READONLY passes at a failover, so that a release waits for an answer.
        expect(await releasing).to.satisfy(
          (answer: unknown) => answer === true || answer instanceof BackendError,
        );
        await expectUsable(semaphore, stored);
      },
    );
  }

  async function prepare(bench: ClientBench) {
    const name = newName();
    const connection: FaultyConnection = await bench.connectFaulty(server().port);
    const semaphore = bench.semaphore(connection, name, { limit: 1, ttl: 30_000 });
    return { connection, semaphore, stored: new StoredSemaphore(server(), name) };
  }

  itThroughBothClients(
    'gets back what was held, for its user has no rights just then',
    async (bench) => {
      const name = newName();
      await server().command(
        'ACL',
        'SETUSER',
        login.username,
        'reset',
        'on',
        `>${login.password}`,
        ...leastRights,
      );
      const { target } = await bench.connect(server().port, login);
      const semaphore = bench.semaphore(target, name, { limit: 2, ttl: 30_000 });
      const warnings: string[] = [];
      semaphore.on('warning', ({ code }) => warnings.push(code));
      const change = (...rules: string[]): Promise<unknown> =>
        server().command('ACL', 'SETUSER', login.username, ...rules);
      const handle = await semaphore.acquire();
      expect(await semaphore.use(() => change('-evalsha', '-eval').then(() => 7))).to.equal(7);
      expect(await reasonOf(handle.release())).to.be.instanceOf(BackendError);
      await eventually(() => expect(warnings).to.deep.equal(['RELEASE_FAILED']));
      const stored = new StoredSemaphore(server(), name);
      expect(await stored.tickets()).to.have.length(2);
      await change('+evalsha', '+eval');
      await eventually(async () => expect(await stored.tickets()).to.deep.equal([]));
      await expectUsable(semaphore, stored);
    },
  );
});
