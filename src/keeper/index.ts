export type { KeeperEvents, KeeperWarning } from './keeper.js';
export type { KeeperOptions } from './keeper-options.js';
export { Keeper } from './keeper.js';
