/** Of the one semaphore that everybody contends for. */
export const NAME = 'chaos';
