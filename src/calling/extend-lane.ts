import type { Backend, ExtendReply } from '../backends/backend.js';
import type { Instant } from '../time/clock.js';
import type { CallTerms } from './call-terms.js';
import type { LaneGroup, LaneParts } from './lane.js';
import { Lane, LaneItem } from './lane.js';

export interface HeldTicket {
  readonly id: string;
  readonly fencingToken: number;
}

export interface ExtendAnswer {
  readonly outcome: 'extended' | 'missing' | 'revoked';
  /** The moment before the call left: the ticket lives for a ttl from then, at least. */
  readonly sent: Instant;
}

export class ExtendItem extends LaneItem<ExtendAnswer> {
  readonly ticket: HeldTicket;

  constructor(terms: CallTerms, ticket: HeldTicket) {
    super(terms);
    this.ticket = ticket;
  }
}

export class ExtendLane extends Lane<ExtendItem, ExtendReply> {
  readonly #backend: Backend;

  constructor(backend: Backend, parts: LaneParts, limit: number) {
    super(parts, limit);
    this.#backend = backend;
  }

  protected override run(
    groups: readonly LaneGroup<ExtendItem>[],
  ): Promise<readonly ExtendReply[]> {
    return this.#backend.extend(
      groups.map(({ terms, items }) => ({
        ...terms.call,
        ttl: terms.ttl,
        ids: items.map(({ ticket }) => ticket.id),
        fencingTokens: items.map(({ ticket }) => ticket.fencingToken),
      })),
    );
  }

  protected override settle(items: readonly ExtendItem[], reply: ExtendReply, sent: Instant): void {
    const { extended, revoked = [] } = reply;
    items.forEach((item, i) => {
      const gone = revoked.includes(item.ticket.id) ? 'revoked' : 'missing';
      item.resolve({ outcome: extended[i] === true ? 'extended' : gone, sent });
    });
  }
}
