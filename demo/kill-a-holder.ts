import { setTimeout as sleep } from 'node:timers/promises';

import type { Board } from './board.js';
import type { JudgeServer } from './judge-server.js';
import type { ProcessCrew } from './process-crew.js';

/**
 * Beyond the ttl: how long the next worker in the queue may take to notice and to arrive, on a busy
 * machine.
 */
const GRACE = 1000;

/**
 * After that time its permit is claimed, and comes back one ttl after its death; before that, it
 * comes back after the claim time of 5 s.
 */
const CLAIMED = 300;

export interface Killing {
  readonly worker: number;
  readonly slot: number;
  readonly ttl: number;
  /**
   * Milliseconds from the kill to the next request with that slot; undefined: it did not come in
   * time.
   */
  readonly backAfter: number | undefined;
}

/** Kills a worker in the middle of its request, and waits until another worker has its permit. */
export async function killAHolder(
  server: JudgeServer,
  crew: ProcessCrew,
  board: Board,
  ttl: number,
): Promise<Killing | undefined> {
  let visit = server.withholdNewest();
  for (let tries = 0; visit === undefined && tries < 100; tries += 1) {
    await sleep(5);
    visit = server.withholdNewest();
  }
  if (visit === undefined) return undefined;
  const { worker, slot } = visit;
  await sleep(CLAIMED);
  const killedAt = performance.now();
  crew.kill(worker);
  board.update({ worker, state: 'killed', slot });
  board.tell(`worker ${worker} killed (SIGKILL) holding slot ${slot}`);

  const came = await server.nextWithSlot(slot, ttl + GRACE);
  const waited = performance.now() - killedAt;
  const seconds = (waited / 1000).toFixed(1);
  board.tell(
    came
      ? `the permit of worker ${worker} (slot ${slot}) is back after ${seconds} s`
      : `the permit of worker ${worker} (slot ${slot}) is not back after ${seconds} s`,
  );
  return { worker, slot, ttl, backAfter: came ? waited : undefined };
}
