/** What strikes one process and its connections. */
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

/** What strikes a server, and with it everybody. */
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
