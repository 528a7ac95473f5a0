import type { WorkerState } from './work-loop.js';

export type Paint = (state: WorkerState, text: string) => string;

const COLORS: Record<WorkerState, string> = {
  starting: '2',
  waiting: '33',
  running: '32',
  resting: '2',
  lost: '35',
  done: '2',
  killed: '1;31',
  failed: '1;31',
};

/** NO_COLOR: https://no-color.org */
export function choosePaint(environment: NodeJS.ProcessEnv): Paint {
  if ((environment['NO_COLOR'] ?? '') !== '') return (_state, text) => text;
  return (state, text) => `\u001B[${COLORS[state]}m${text}\u001B[0m`;
}
