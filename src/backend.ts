/**
 * The port that a custom backend implements, and what its calls say. Users of a semaphore need
 * none of it.
 * @module
 */
export type * from './backends/backend.js';
