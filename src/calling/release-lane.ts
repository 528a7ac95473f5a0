import type { Backend, ReleaseReply } from '../backends/backend.js';
import type { CallTerms } from './call-terms.js';
import type { LaneGroup, LaneParts } from './lane.js';
import { Lane, LaneItem } from './lane.js';

/** Its answer: whether there was a live ticket. */
export class ReleaseItem extends LaneItem<boolean> {
  readonly id: string;

  constructor(terms: CallTerms, id: string) {
    super(terms);
    this.id = id;
  }
}

export class ReleaseLane extends Lane<ReleaseItem, ReleaseReply> {
  readonly #backend: Backend;

  constructor(backend: Backend, parts: LaneParts, limit: number) {
    super(parts, limit);
    this.#backend = backend;
  }

  protected override run(
    groups: readonly LaneGroup<ReleaseItem>[],
  ): Promise<readonly ReleaseReply[]> {
    return this.#backend.release(
      groups.map(({ terms: { call }, items }) => {
        const { key, limit, client } = call;
        return { key, limit, client, ids: items.map(({ id }) => id) };
      }),
    );
  }

  protected override settle(items: readonly ReleaseItem[], { released }: ReleaseReply): void {
    items.forEach((item, i) => item.resolve(released[i] === true));
  }
}
