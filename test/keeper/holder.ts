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

/** The arguments of this program. */
export interface HolderArguments {
  readonly port: number;
  readonly kind: BothKinds;
  readonly name: string;
  readonly ttl: number;
  readonly extendEvery: number;
  readonly maxStall: number;
  /** The number of its permits; left out: 1. */
  readonly permits?: number;
  /**
   * Its loop is blocked until there is a file of that name, and writes one with `.lost` behind it
   * when not all permits are held any more. Left out: it ends at once.
   */
  readonly blockedUntil?: string;
}

export interface HolderReport {
  /** In the blocked loop, at its end: all of them. */
  readonly held: boolean;
  /** The latest time until which a look in that loop has shown a permit held. */
  readonly believedUntil: number;
  /** `lost` events, when the loop is back. */
  readonly lost: readonly string[];
  readonly released: boolean;
}

const given = workerArguments<HolderArguments>();
const { port, kind, name, ttl, extendEvery, maxStall, permits = 1, blockedUntil } = given;
const client = await openClient(kind, `redis://127.0.0.1:${port}`);
const options: KeeperOptions =
  kind === 'ioredis' ? { ioredis: { port } } : { redis: { socket: { port } } };
const keeper = new Keeper({ ...options, maxStall });
const terms = { limit: permits, ttl, extendEvery, keeper };
const semaphore = new Semaphore(client.target, name, terms);
const handles = await Promise.all(Array.from({ length: permits }, () => semaphore.acquire()));
const lost: string[] = [];
for (const handle of handles) handle.on('lost', ({ reason }) => lost.push(reason));
const areHeld = (): boolean => handles.every(({ held }) => held);
// The keeper's thread takes a while to start on a busy machine: until then this thread extends.
const last = handles.at(-1);
if (last !== undefined) await eventually(() => isKept(last));
if (blockedUntil === undefined) {
  process.disconnect();
  await client.close();
} else {
  const { id } = handles[0] ?? {};
  await new Promise((resolve) => process.send?.({ type: 'blocked', data: id }, resolve));
  let believedUntil = 0;
  const nothing = new Int32Array(new SharedArrayBuffer(4));
  while (!existsSync(blockedUntil)) {
    // The time comes first: the process may be stopped between the two.
    const at = wallTime();
    for (const { held, expiresIn } of handles) {
      if (held) believedUntil = Math.max(believedUntil, at + expiresIn);
    }
    if (!areHeld()) writeFileSync(`${blockedUntil}.lost`, '');
    Atomics.wait(nothing, 0, 0, 5);
  }
  const held = areHeld();
  await moment();
  const ended = await Promise.all(handles.map((handle) => handle.release()));
  const told: HolderReport = { held, believedUntil, lost, released: ended.every(Boolean) };
  report('done', told);
  await semaphore.close();
  await client.close();
}
