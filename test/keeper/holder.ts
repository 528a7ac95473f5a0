import { existsSync, writeFileSync } from 'node:fs';

import { Semaphore } from '../../src/index.js';
import { Keeper, type KeeperOptions } from '../../src/keeper/index.js';
import { type BothKinds } from '../support/client-fixture.js';
import { eventually } from '../support/eventually.js';
import { moment } from '../support/moment.js';
import { openClient } from '../support/open-client.js';
import { wallTime } from '../support/real-time.js';
import { report, workerArguments } from '../support/worker-side.js';
import { isKept } from './is-kept.js';

/** What the program of the same name does. */
export interface HolderArguments {
  readonly port: number;
  readonly kind: BothKinds;
  readonly name: string;
  readonly ttl: number;
  readonly extendEvery: number;
  /** Left out: no keeper. */
  readonly maxStall?: number;
  /**
   * Its loop is blocked until there is a file of that name, and writes one with `.lost` behind it
   * when the permit is not held any more. Left out: it ends at once.
   */
  readonly blockedUntil?: string;
}

export interface HolderReport {
  /** In the blocked loop, at its end. */
  readonly held: boolean;
  /** Until when the permit was held at the latest, by what looks in that loop have shown. */
  readonly believedUntil: number;
  /** `lost` events, when the loop is back. */
  readonly lost: readonly string[];
  readonly released: boolean;
}

const { port, kind, name, ttl, extendEvery, maxStall, blockedUntil } =
  workerArguments<HolderArguments>();
const client = await openClient(kind, `redis://127.0.0.1:${port}`);
const source: KeeperOptions =
  kind === 'ioredis' ? { ioredis: { port } } : { redis: { socket: { port } } };
const keeper = maxStall === undefined ? undefined : new Keeper({ ...source, maxStall });
const semaphore = new Semaphore(client.target, name, { limit: 1, ttl, extendEvery, keeper });
const handle = await semaphore.acquire();
const lost: string[] = [];
handle.on('lost', ({ reason }) => lost.push(reason));
// The keeper's thread takes a while to start on a busy machine: until then this thread extends.
if (keeper !== undefined) await eventually(() => isKept(handle));
if (blockedUntil === undefined) {
  process.disconnect();
  await client.close();
} else {
  const { id } = handle;
  await new Promise((resolve) => process.send?.({ type: 'blocked', data: id }, resolve));
  let believedUntil = 0;
  const nothing = new Int32Array(new SharedArrayBuffer(4));
  while (!existsSync(blockedUntil)) {
    // The time comes first: the process may be stopped between the two.
    const at = wallTime();
    if (handle.held) believedUntil = Math.max(believedUntil, at + handle.expiresIn);
    else writeFileSync(`${blockedUntil}.lost`, '');
    Atomics.wait(nothing, 0, 0, 5);
  }
  const { held } = handle;
  await moment();
  const released = await handle.release();
  const told: HolderReport = { held, believedUntil, lost, released };
  report('done', told);
  await semaphore.close();
  await client.close();
}
