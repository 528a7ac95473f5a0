/** Faults of one process and its connections. */
export const PROCESS_FAULTS = [
  'stall',
  'kill-process',
  'step-wall',
  'cut',
  'cut-subscriber',
  'slow',
  'lose-commands',
  'lose-replies',
  'lose-pushes',
  'duplicate',
  'straggle',
  'refuse-subscriptions',
  'refuse-writes',
] as const;

/** Faults of a server, and with it of all processes. */
export const SERVER_FAULTS = [
  'hang',
  'restart-with-data',
  'restart-empty',
  'restart-old',
  'step-clock',
  'damaged',
] as const;

export const FAULTS = [...PROCESS_FAULTS, ...SERVER_FAULTS] as const;

export type FaultKind = (typeof FAULTS)[number];

export function isServerFault(kind: FaultKind): boolean {
  return SERVER_FAULTS.some((each) => each === kind);
}
