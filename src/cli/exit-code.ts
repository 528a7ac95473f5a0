/** Exit codes of `redsem` itself; 64 to 75 as in sysexits.h, 126 and 127 as shells give them. */
export const EXIT = {
  ok: 0,
  /** `revoke`: there is no such ticket. */
  noSuchTicket: 1,
  usage: 64,
  /** The server cannot be reached or refuses. */
  unavailable: 69,
  /** An error of this program. */
  internal: 70,
  /** The output cannot be written. */
  cannotWrite: 74,
  /** `run`: no permit in time. */
  notAcquired: 75,
  /** `run`: the permit was lost. The first code that sysexits.h leaves free. */
  lost: 79,
  cannotRun: 126,
  notFound: 127,
} as const;
