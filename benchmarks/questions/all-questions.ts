import { client } from './client.js';
import { command } from './command.js';
import { contended } from './contended.js';
import { crowd } from './crowd.js';
import { fairness } from './fairness.js';
import { growth } from './growth.js';
import { held } from './held.js';
import { instructions } from './instructions.js';
import { keys } from './keys.js';
import type { Question } from './question.js';
import { recovery } from './recovery.js';
import { telemetry } from './telemetry.js';
import { uncontended } from './uncontended.js';
import { waiting } from './waiting.js';

export const questions: readonly Question[] = [
  instructions,
  client,
  uncontended,
  contended,
  fairness,
  held,
  waiting,
  keys,
  growth,
  crowd,
  recovery,
  telemetry,
  command,
];
