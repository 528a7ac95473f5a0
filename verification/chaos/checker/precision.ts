/** How late timers on a busy machine may be, in milliseconds. */
export const SLACK = 250;

/** How long a reply that was sent before a fault may still be on its way, in milliseconds. */
export const IN_FLIGHT = 100;

/** How long after a fault the clients may need to be connected again, in milliseconds. */
export const RECONNECT = 2500;
