import { isatty } from 'node:tty';
import type { Semaphore, SemaphoreState, WaitingReport } from '../../index.js';
import { complain } from '../output.js';

/** The time before the first line, in milliseconds: most waits are over by then. */
const SILENCE = 1000;

/** The least time between two lines, in milliseconds. */
const PAUSE = 10_000;

/** The line names this many holders, and counts the others. */
const MOST_NAMED = 3;

const SUFFIXES: Readonly<Record<string, string>> = { one: 'st', two: 'nd', few: 'rd' };
const ordinals = new Intl.PluralRules('en', { type: 'ordinal' });

type Progress = Omit<WaitingReport, 'heldHere'>;

export interface WaitingNote {
  /** The option of `acquire` that feeds the note. */
  readonly onWaiting: (progress: Progress) => void;
  stop(): void;
}

/**
 * Shows on a terminal, after a wait of some time, the holders and how long the wait may last. Shows
 * nothing without a terminal.
 */
export function noteWaiting(semaphore: Semaphore): WaitingNote | undefined {
  if (!isatty(2)) return undefined;
  let latest: Progress | undefined;
  let [said, over] = [Infinity, false];
  const sayFirst = async (): Promise<void> => {
    // Warnings report a server that does not answer.
    const state = await semaphore.inspect().catch(() => undefined);
    if (state === undefined || over) return;
    said = performance.now();
    const facts = [
      ...(latest === undefined ? [] : [progressText(latest)]),
      ...(state.limit === 0 ? ['paused'] : []),
      ...(state.holders.length > 0 ? [holdersText(state)] : []),
    ];
    complain(`waiting for ${state.name}${facts.length > 0 ? ` (${facts.join(', ')})` : ''}`);
  };
  const timer = setTimeout(() => void sayFirst(), SILENCE);
  const onWaiting = (progress: Progress): void => {
    latest = progress;
    if (performance.now() < said + PAUSE) return;
    said = performance.now();
    complain(`waiting for ${semaphore.name}: ${progressText(progress)}`);
  };
  const stop = (): void => {
    over = true;
    clearTimeout(timer);
  };
  return { onWaiting, stop };
}

function holdersText({ holders }: SemaphoreState): string {
  const labels = holders.slice(0, MOST_NAMED).map(({ label }) => label);
  const others = holders.length - labels.length;
  return `held by ${labels.join(', ')}${others > 0 ? ` and ${others} more` : ''}`;
}

/** `3rd of 17, about 40 s`. */
export function progressText({ position, waiting, estimate }: Progress): string {
  const rank = position + 1;
  const suffix = SUFFIXES[ordinals.select(rank)] ?? 'th';
  const time = estimate === undefined ? '' : `, about ${roundTime(estimate)}`;
  return `${rank}${suffix} of ${waiting}${time}`;
}

function roundTime(milliseconds: number): string {
  const seconds = Math.max(1, Math.round(milliseconds / 1000));
  return seconds < 100 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
}
