import type { Script } from './compose-script.js';
import { script } from './compose-script.js';

export const acquireScript: Script = script('acquire');
export const adoptScript: Script = script('adopt');
export const checkServerScript: Script = script('check-server');
export const evictionScript: Script = script('eviction');
export const extendScript: Script = script('extend');
export const inspectScript: Script = script('inspect');
export const listNamesScript: Script = script('list-names');
export const noteStripesScript: Script = script('note-stripes');
export const overviewScript: Script = script('overview');
export const releaseScript: Script = script('release');
export const revokeScript: Script = script('revoke');
export const setLimitScript: Script = script('set-limit');
export const setRateScript: Script = script('set-rate');
