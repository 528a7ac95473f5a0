import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Semaphore } from '../../src/index.js';
import type { WebFixture } from './page-fixture.js';

/** The semaphore of the scene whose page is shown. */
export const SCENE_NAME = 'partner-api';

const KINDS = ['redis', 'ioredis'] as const;
const LABELS = ['api-7c9d:41', 'api-7c9d:42', 'render-eu:7', 'exporter-1:1203'] as const;

interface Use {
  readonly name: string;
  readonly limit: number;
  /** Callers of each client. */
  readonly callers: number;
  /** Milliseconds for which each caller holds its permits, and then has none. */
  readonly hold: number;
  readonly rest: number;
  readonly permits?: number;
  /** A limit that an operator sets a moment later. */
  readonly changed?: number;
}

const USES: readonly Use[] = [
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

/** Four clients use ten semaphores until the signal aborts. */
export async function playScene(web: WebFixture, over: AbortSignal): Promise<void> {
  setMaxListeners(0, over);
  for (const [nth, label] of LABELS.entries()) {
    for (const use of USES) {
      const semaphore = await web.user(use.name, { limit: use.limit, label }, KINDS[nth % 2]);
      for (let caller = 0; caller < use.callers; caller += 1) {
        play(semaphore, use, caller + nth, over).catch(() => undefined);
      }
    }
  }
  await sleep(2000);
  for (const { name, limit, changed } of USES) {
    if (changed !== undefined) await (await web.user(name, { limit })).setLimit(changed);
  }
}

async function play(
  semaphore: Semaphore,
  { hold, rest, permits = 1 }: Use,
  first: number,
  signal: AbortSignal,
): Promise<void> {
  for (let round = first; !signal.aborted; round += 1) {
    // No two callers in step, and more of them at times than at others.
    const wave = 1 + Math.sin(round / 3) / 2;
    await semaphore.use(() => sleep(hold * wave, undefined, { signal }), { permits, signal });
    await sleep(rest * (2 - wave), undefined, { signal });
  }
}
