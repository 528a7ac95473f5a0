import type { TestCluster } from '../../support/redis-cluster.js';
import type { Undo } from './topology.js';

/**
 * Begins to move a slot to another master, with one of its keys; the others follow when that is
 * undone.
 */
export async function moveSlot(cluster: TestCluster, slot: number): Promise<Undo> {
  const from = await cluster.masterOf(slot);
  const to = (await cluster.masters()).find((master) => master !== from);
  if (to === undefined) throw new Error('a cluster of one master');
  await cluster.beginMove(slot, to);
  const keys = await cluster.keysIn(from, slot);
  await cluster.moveKeys(from, to, keys.slice(0, 1));
  return async () => {
    await cluster.finishMove(slot, from, to);
    await cluster.untilServedBy(slot, to);
  };
}
