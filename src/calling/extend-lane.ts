import type { Backend, ExtendReply } from '../backends/backend.js';
import type { LaneGroup, LaneItem, LaneParts, Sender } from './lane.js';
import { Lane } from './lane.js';

/** One extension of a held ticket. */
export interface ExtendItem extends LaneItem {
  readonly id: string;
  readonly fencingToken: number;
}

export type ExtendSender = Sender<ExtendItem, ExtendReply>;

export class ExtendLane extends Lane<ExtendItem, ExtendReply> {
  /** A renewal costs the server a fifth of a grant. */
  protected override readonly mostIds = 500;
  readonly #backend: Backend;

  constructor(backend: Backend, parts: LaneParts, limit: number) {
    super(parts, limit);
    this.#backend = backend;
  }

  protected override run(
    groups: readonly LaneGroup<ExtendItem, ExtendReply>[],
  ): Promise<readonly ExtendReply[]> {
    return this.#backend.extend(
      groups.map(({ sender: { terms }, items }) => ({
        ...terms.call,
        ttl: terms.ttl,
        ids: items.map(({ id }) => id),
        fencingTokens: items.map(({ fencingToken }) => fencingToken),
      })),
    );
  }
}
