import type { Script } from '../redis/compose-script.js';
import { script } from '../redis/compose-script.js';

export const quorumDropScript: Script = script('quorum-drop');
export const quorumKeepScript: Script = script('quorum-keep');
export const quorumListScript: Script = script('quorum-list');
export const quorumTakeScript: Script = script('quorum-take');
