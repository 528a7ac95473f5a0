import { expect } from 'chai';

import { eventually } from '../../test/support/eventually.js';
import type { ClientKind } from '../../test/support/open-client.js';
import type { TestServer } from '../../test/support/redis-server.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { StoredSemaphore } from '../../test/support/stored-semaphore.js';
import { startWorker, type WorkerProcess } from '../../test/support/worker-process.js';

const LIMIT = 3;

export interface DeployArguments {
  readonly kind: ClientKind;
  readonly url: string;
  readonly name: string;
  readonly limit: number;
  /** The list on the server. */
  readonly log: string;
}

/**
 * `begin`: it has a permit; `end`: it is about to release it; `stop`: it is about to close;
 * `closed`: it has.
 */
export type LogEvent = 'begin' | 'end' | 'stop' | 'closed';

interface Entry {
  readonly event: LogEvent;
  readonly process: number;
  readonly id: string;
}

describeWithServer('a rolling deploy', (server) => {
  const running = new Set<WorkerProcess>();

  afterEach(() => {
    for (const worker of running) worker.kill();
    running.clear();
  });

  for (const kinds of [
    ['redis', 'ioredis'],
    ['ioredis', 'redis'],
  ] as const) {
    it(`with SIGTERM and close({ drain }) keeps the limit (${kinds.join(' to ')})`, async () => {
      const name = `deploy of ${kinds[1]}`;
      const [oldKind, newKind] = kinds;
      const olds = [await start(oldKind, name), await start(oldKind, name)];
      const news: WorkerProcess[] = [];
      for (const old of olds) {
        const fresh = await start(newKind, name);
        news.push(fresh);
        await untilUsed(name, [old, fresh]);
        await terminate(old);
      }
      await untilUsed(name, news);
      await Promise.all(news.map(terminate));
      const entries = await entriesOf(server(), name);
      expect(peakOf(entries)).to.equal(LIMIT);
      for (const { pid, messages } of [...olds, ...news]) {
        expectDrained(entries.filter((entry) => entry.process === pid));
        expect(messages.map(({ type }) => type)).to.deep.equal(['ready']);
      }
      expect(await new StoredSemaphore(server(), name).tickets()).to.deep.equal([]);
    });
  }

  async function start(kind: ClientKind, name: string): Promise<WorkerProcess> {
    const args: DeployArguments = { kind, url: server().url, name, limit: LIMIT, log: logOf(name) };
    const worker = startWorker(new URL('deploy-worker.ts', import.meta.url), args);
    running.add(worker);
    await worker.next('ready');
    return worker;
  }

  /** Each of them has had ten permits more. */
  async function untilUsed(name: string, workers: readonly WorkerProcess[]): Promise<void> {
    const { length } = await entriesOf(server(), name);
    await eventually(async () => {
      const later = (await entriesOf(server(), name)).slice(length);
      for (const { pid } of workers) {
        const begun = later.filter(({ event, process }) => event === 'begin' && process === pid);
        expect(begun.length).to.be.at.least(10);
      }
    });
  }
});

/** It ends by itself, and well. */
async function terminate(worker: WorkerProcess): Promise<void> {
  worker.kill('SIGTERM');
  expect(await worker.exited, worker.output).to.deep.equal({ code: 0, signal: null });
}

function logOf(name: string): string {
  return `log of ${name}`;
}

async function entriesOf(server: TestServer, name: string): Promise<Entry[]> {
  const texts = (await server.command('LRANGE', logOf(name), '0', '-1')) as string[];
  return texts.map((text) => JSON.parse(text) as Entry);
}

/** The most permits that were held at one moment, by all processes together. */
function peakOf(entries: readonly Entry[]): number {
  const held = new Set<string>();
  let peak = 0;
  for (const { event, id } of entries) {
    if (event === 'begin') held.add(id);
    else if (event === 'end') held.delete(id);
    peak = Math.max(peak, held.size);
  }
  return peak;
}

/**
 * It held something when it began to close, and finished all that it ever held before that was
 * over.
 */
function expectDrained(entries: readonly Entry[]): void {
  const idsOf = (part: readonly Entry[], event: LogEvent): string[] =>
    part.filter((entry) => entry.event === event).map(({ id }) => id);
  const before = entries.slice(
    0,
    entries.findIndex(({ event }) => event === 'stop'),
  );
  expect(idsOf(before, 'begin').length).to.be.above(idsOf(before, 'end').length);
  expect(idsOf(entries, 'end')).to.have.members(idsOf(entries, 'begin'));
  expect(entries.at(-1)?.event).to.equal('closed');
}
