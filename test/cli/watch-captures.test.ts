import { readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import type { Line } from '../../src/cli/style.js';
import { frame } from '../../src/cli/watch/frame.js';
import { screenText } from '../../src/cli/watch/screen.js';
import type { View, Watched } from '../../src/cli/watch/view.js';
import { TicketTimes } from '../../src/cli/watch/view.js';
import { STEP_MS } from '../../src/sampler/history.js';
import { summaryOf } from './summaries.js';
import { CapturedTerminal } from './terminal-capture.js';

const FOLDER = new URL('captures/', import.meta.url);
/** After a change of the looks: write the files, and look at them. */
const WRITES = process.env['REDSEM_CAPTURES'] === 'write';
const NOW = new Date(2026, 0, 1, 11, 52, 3).getTime();
/** Of the semaphore that is open. */
const ticketTimes = new TicketTimes();

/** A semaphore after five minutes, in which it became busier and busier. */
function watched(name: string, limit: number | null, held: number, waiting: number): Watched {
  const { holders, ...summary } = summaryOf(name, limit, held, waiting);
  // One is not extended any more.
  const now = holders.map((holder, i) => (i === 2 ? { ...holder, expiresIn: 5000 } : holder));
  const share = (i: number): number => Math.min(1, i / 45);
  const steps = Array.from({ length: 60 }, (_, i) => ({
    t: NOW - (NOW % STEP_MS) - (59 - i) * STEP_MS,
    held: Math.ceil(held * share(i)),
    waiting: Math.floor(waiting * share(i)),
    limit,
    grantsPerSecond: ((i * 7) % 10) / 4,
    waitP50: null,
    waitP99: null,
  }));
  return {
    ...summary,
    holders: now,
    isClose: true,
    oldestWait: summary.waiters[0]?.waitingFor,
    grantsPerSecond: held / 4,
    steps,
  };
}

const MANY = [
  watched('video-encoders', 16, 16, 22),
  watched('deploys', 3, 1, 0),
  watched('gpus', 4, 4, 0),
  watched('reports of the month for all customers', 5, 4, 0),
  watched('nightly', 0, 0, 2),
  watched('crawler', null, 0, 0),
  ...Array.from({ length: 30 }, (_, i) => watched(`tenant ${i}`, 10, i % 11, 0)),
];

ticketTimes.see(summaryOf('video-encoders', 16, 16, 22).holders);

const VIEW: View = {
  server: 'redis://127.0.0.1:6379',
  interval: 1000,
  connected: true,
  seenAt: NOW,
  failed: false,
  name: undefined,
  watched: MANY,
  filter: '',
  order: 2,
  selected: 3,
  message: undefined,
  trouble: undefined,
  help: false,
  now: NOW + 300,
  ticketTimes,
};
const ONE: View = { ...VIEW, name: 'video-encoders', watched: MANY.slice(0, 1), order: 0 };

async function capture(lines: readonly Line[], columns: number, rows: number): Promise<string> {
  const terminal = new CapturedTerminal(columns, rows);
  await terminal.write(screenText(lines, true));
  const parts = [terminal.lines, [`${'─'.repeat(columns)} and how it looks`], terminal.styles];
  const text = parts.flat().map((line) => line.trimEnd());
  return `${text.join('\n').trimEnd()}\n`;
}

describe('captures of redsem watch in a terminal', () => {
  for (const [title, view, columns, rows] of [
    ['overview', VIEW, 80, 14],
    ['detail', ONE, 120, 16],
    ['among the waiters', { ...ONE, selected: 30, filter: 'ER' }, 80, 24],
  ] as const) {
    it(`${title}, ${columns} x ${rows}`, async () => {
      const shown = await capture(frame(view, { columns, rows }), columns, rows);
      const file = new URL(`${title.replaceAll(' ', '-')}.${columns}x${rows}.txt`, FOLDER);
      if (WRITES) writeFileSync(file, shown);
      expect(shown).to.equal(readFileSync(file, 'utf8'));
    });
  }
});
