/**
 * A web view of all semaphores, as one handler of `Request` and `Response`.
 * @module
 */
export type * from './api-types.js';
export type { WebViewOptions } from './options.js';
export type { WebHandler } from './web-view.js';
export { webView } from './web-view.js';
