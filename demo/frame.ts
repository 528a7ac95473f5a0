import type { WorkerLine } from './board.js';
import type { Paint } from './paint.js';
import type { Scene } from './scene.js';

const COLUMNS = 4;
const CELL = 19;
export const EVENTS_SHOWN = 3;

export interface Moment {
  /** Milliseconds on the process's monotonic clock. */
  readonly now: number;
  /** Milliseconds since the view opened. */
  readonly elapsed: number;
  readonly events: readonly string[];
}

/** One picture of the live view, always of the same height. At most 80 columns wide. */
export function drawFrame({ board, judge }: Scene, moment: Moment, paint: Paint): string[] {
  const { peak, allowed, served } = judge;
  const waiting = board.workers.filter(({ state }) => state === 'waiting').length;
  const seconds = (moment.elapsed / 1000).toFixed(1);
  const events = Array.from({ length: EVENTS_SHOWN }, (_, index) => moment.events[index] ?? '');
  return [
    '',
    ` permits   ${permitBar(board.holders, board.workers, paint)}`,
    ` in flight ${judge.inFlight.length}   peak ${peak} of ${allowed}   waiting ${waiting}   served ${served}   ${seconds} s`,
    '',
    ...workerTable(board.workers, moment.now, paint),
    '',
    ...events.map((event) => ` ${event}`.slice(0, 79)),
  ];
}

function permitBar(
  holders: readonly (number | undefined)[],
  workers: readonly WorkerLine[],
  paint: Paint,
): string {
  const cells = holders.map((worker) => {
    if (worker === undefined) return '[    ]';
    const killed = workers[worker - 1]?.state === 'killed';
    const name = paint(killed ? 'killed' : 'running', shortName(worker));
    return `[${name}${killed ? '!' : ' '}]`;
  });
  return cells.slice(0, 11).join('');
}

function workerTable(workers: readonly WorkerLine[], now: number, paint: Paint): string[] {
  const rows = Math.ceil(workers.length / COLUMNS);
  return Array.from({ length: rows }, (_row, row) => {
    const inRow = workers.filter((_worker, index) => index % rows === row);
    return ` ${inRow.map((line) => paint(line.state, cellOf(line, now))).join('')}`;
  });
}

function cellOf({ worker, state, slot, since }: WorkerLine, now: number): string {
  const waited = `${(Math.max(0, now - since) / 1000).toFixed(1)} s`;
  const detail = state === 'waiting' ? waited : slot === undefined ? '' : `slot ${slot}`;
  return `${shortName(worker)} ${state} ${detail}`.slice(0, CELL).padEnd(CELL);
}

function shortName(worker: number): string {
  return `w${String(worker).padStart(2, '0')}`;
}
