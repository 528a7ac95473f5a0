import type { ClientKind } from '../../test/support/open-client.js';

export interface DroppedArguments {
  readonly kind: ClientKind;
  readonly url: string;
  readonly name: string;
  readonly ttl: number;
}

export interface Dropped {
  /** Ticket ids by what was done with their handles. */
  readonly ids: Record<string, string>;
  /** Which handles were garbage in the end. */
  readonly collected: string[];
  /** Codes of the warnings that the process gave. */
  readonly warnings: string[];
  /** How many handles were told of a loss. */
  readonly lost: number;
}
