import type { FaultEvent } from './events.js';

/** The promises that a kind of fault may break. All other promises must hold. */
export interface FaultEffects {
  /** Tickets may vanish from the server while their holders believe in them, or expire at once. */
  readonly breaksLimit: boolean;
  /** Holders may lose their tickets. */
  readonly costsTickets: boolean;
}

const harmless: FaultEffects = { breaksLimit: false, costsTickets: false };
const interruption: FaultEffects = { breaksLimit: false, costsTickets: true };
const dataLoss: FaultEffects = { breaksLimit: true, costsTickets: true };

const effects = {
  'kill-process': interruption,
  'stop-process': interruption,
  // Only the loop is blocked: the keeper renews the permits.
  'stall-loop': harmless,
  'stop-server': interruption,
  'restart-with-data': interruption,
  'restart-empty': dataLoss,
  'pause-clients': interruption,
  'kill-clients': interruption,
  delay: interruption,
  hang: interruption,
  'swallow-requests': interruption,
  'swallow-replies': interruption,
  split: interruption,
  cut: interruption,
  'forget-scripts': harmless,
  'flush-data': dataLoss,
  'delete-key': dataLoss,
  'step-clock': dataLoss,
  'fail-over': dataLoss,
  // All of its keys arrive, with their times; meanwhile neither node serves the slot.
  'move-slot': interruption,
} as const satisfies Record<string, FaultEffects>;

export type FaultKind = keyof typeof effects;

type FaultDetails = Pick<FaultEvent, 'kind' | 'step' | 'key' | 'node'>;

/**
 * The effects of one fault: a clock that goes back expires nothing, and not every key has tickets.
 */
export function effectsOf({ kind, step, key, node }: FaultDetails): FaultEffects {
  const known: Readonly<Record<string, FaultEffects>> = effects;
  const usual = known[kind] ?? dataLoss;
  // The other nodes are a majority. The plan keeps a node that lost its data away for a ttl.
  if (node !== undefined && usual.costsTickets) return interruption;
  if (kind === 'step-clock' && (step ?? 0) < 0) return interruption;
  if (kind === 'delete-key' && key !== 'tickets' && key !== 'info') return interruption;
  return usual;
}

/** Whether every earlier ticket is certainly gone, so that each of its holders must be notified. */
export function endsAllTickets(
  { kind, step, key, node }: FaultDetails,
  longestLife: number,
): boolean {
  if (node !== undefined) return false;
  if (kind === 'delete-key') return key === 'tickets' || key === 'info';
  if (kind === 'step-clock') return (step ?? 0) > longestLife;
  return kind === 'flush-data' || kind === 'restart-empty';
}
