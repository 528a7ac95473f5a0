/**
 * The interface that a custom backend implements, and the types of its calls. Users of a semaphore
 * do not need it.
 * @module
 */
export type * from './backends/backend.js';
