import { script } from './compose-script.js';

export const acquireScript = script('acquire');
export const adoptScript = script('adopt');
export const checkServerScript = script('check-server');
export const evictionScript = script('eviction');
export const extendScript = script('extend');
export const inspectScript = script('inspect');
export const noteStripesScript = script('note-stripes');
export const quorumDropScript = script('quorum-drop');
export const quorumKeepScript = script('quorum-keep');
export const quorumListScript = script('quorum-list');
export const quorumTakeScript = script('quorum-take');
export const releaseScript = script('release');
export const revokeScript = script('revoke');
export const setLimitScript = script('set-limit');

