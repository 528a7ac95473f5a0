import type { Script } from '../redis/compose-script.js';
import { script } from '../redis/compose-script.js';

export const quorumDropScript: Script = script('quorum-drop');
export const quorumHoldScript: Script = script('quorum-hold');
export const quorumListScript: Script = script('quorum-list');
