import { setTimeout as sleep } from 'node:timers/promises';

import { Semaphore } from '../../src/index.js';
import { openClient } from '../../test/support/open-client.js';
import { report, workerArguments } from '../../test/support/worker-side.js';

interface Part {
  readonly name: string;
  readonly limit: number;
  /** Callers of each process. */
  readonly callers: number;
  /** How long each holds its permits and then does without, in milliseconds. */
  readonly hold: number;
  readonly rest: number;
  readonly permits?: number;
  /** A limit that an operator sets a moment later. */
  readonly changed?: number;
}

const PARTS: readonly Part[] = [
  { name: 'partner-api', limit: 10, callers: 6, hold: 700, rest: 200 },
  { name: 'gpus:node-7', limit: 8, callers: 1, hold: 60_000, rest: 0, permits: 2 },
  { name: 'gpus:node-3', limit: 8, callers: 1, hold: 9000, rest: 9000, permits: 2 },
  { name: 'deploys', limit: 1, callers: 1, hold: 40_000, rest: 1000 },
  { name: 'mail-out', limit: 8, callers: 2, hold: 90_000, rest: 0, changed: 6 },
  { name: 'exports:acme', limit: 4, callers: 1, hold: 2500, rest: 1500 },
  { name: 'pdf-render', limit: 24, callers: 3, hold: 1500, rest: 1200 },
  { name: 'thumbnails:eu', limit: 64, callers: 8, hold: 400, rest: 300 },
  { name: 'search-index', limit: 3, callers: 1, hold: 500, rest: 500, changed: 0 },
  { name: 'nightly-report', limit: 1, callers: 1, hold: 5, rest: 600_000 },
];

const { url, label, nth } = workerArguments<{ url: string; label: string; nth: number }>();
const { target } = await openClient(nth % 2 === 0 ? 'redis' : 'ioredis', url);

for (const part of PARTS) {
  const semaphore = new Semaphore(target, part.name, { limit: part.limit, label });
  for (let caller = 0; caller < part.callers; caller += 1) void play(semaphore, part, caller);
}
await sleep(2000);
const operated = PARTS.filter(({ changed }) => nth === 0 && changed !== undefined);
for (const { name, limit, changed = 0 } of operated) {
  await new Semaphore(target, name, { limit }).setLimit(changed);
}
report('playing');

async function play(semaphore: Semaphore, part: Part, caller: number): Promise<never> {
  const { hold, rest, permits = 1 } = part;
  for (let round = caller + nth; ; round += 1) {
    // No two of them in step, and more of them at times than at others.
    const wave = 1 + Math.sin(round / 3) / 2;
    await semaphore.use(() => sleep(hold * wave), { permits });
    await sleep(rest * (2 - wave));
  }
}
