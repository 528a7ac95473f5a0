import type { Backend, ReleaseReply } from '../backends/backend.js';
import type { LaneGroup, LaneItem, LaneParts, Sender } from './lane.js';
import { Lane } from './lane.js';

/**
 * A ticket to give back, or a request to withdraw: which of the two an id is, only the backend
 * knows for sure.
 */
export interface ReleaseItem extends LaneItem {
  readonly id: string;
}

export type ReleaseSender = Sender<ReleaseItem, ReleaseReply>;

export class ReleaseLane extends Lane<ReleaseItem, ReleaseReply> {
  readonly #backend: Backend;

  constructor(backend: Backend, parts: LaneParts, limit: number) {
    super(parts, limit);
    this.#backend = backend;
  }

  protected override run(
    groups: readonly LaneGroup<ReleaseItem, ReleaseReply>[],
  ): Promise<readonly ReleaseReply[]> {
    return this.#backend.release(
      groups.map(({ sender, items }) => {
        const { key, limit, client } = sender.terms.call;
        return { key, limit, client, ids: items.map(({ id }) => id) };
      }),
    );
  }
}
