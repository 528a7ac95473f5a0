import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import type { SemaphoreSummary } from '../../src/cli/operator.js';
import type { Line } from '../../src/cli/style.js';
import { frame } from '../../src/cli/watch/frame.js';
import { History } from '../../src/cli/watch/history.js';
import { screenText } from '../../src/cli/watch/screen.js';
import type { Freshness, View } from '../../src/cli/watch/view.js';
import { CapturedTerminal } from './terminal-capture.js';

const FOLDER = new URL('captures/', import.meta.url);
/** After a change of the looks: write the files, and look at them. */
const WRITES = process.env['REDSEM_CAPTURES'] === 'write';
const NOW = 1_000_000;

/** A semaphore after a minute, in which it became busier and busier. */
function watched(name: string, limit: number | null, held: number, waiting: number) {
  const summaryAt = (second: number): SemaphoreSummary => {
    const share = Math.min(1, second / 45);
    const holders = Array.from({ length: Math.ceil(held * share) }, (_, i) => ({
      id: `3f9Kq0mYwZ1x.${(second >> 2) * 7 + i}`,
      slots: [i],
      fencingToken: 1000 + i,
      // One is not extended any more.
      expiresIn: i === 2 ? 66_000 - 1000 * second : 24_000 + 100 * i,
      heldFor: 1000 + 137 * i,
      label: `encoder-${i % 4}.eu-west.example:${4000 + i} ffmpeg`,
    }));
    const waiters = Array.from({ length: Math.floor(waiting * share) }, (_, position) => ({
      id: `8Zt2vQ7LpA0c.${position}`,
      permits: 1 + (position % 3),
      position,
      waitingFor: 12_000 - 400 * position,
      label: `upload-${position}.eu-west.example:977 node`,
    }));
    return { name, limit, held: holders.length, waiting: waiters.length, holders, waiters };
  };
  const history = new History();
  for (let second = 0; second <= 60; second += 1) {
    history.add(NOW - 60_000 + 1000 * second, summaryAt(second));
  }
  return { summary: summaryAt(60), history };
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

const FRESH: Freshness = { state: 'connected', age: 300, clock: '11:52:03' };
const VIEW: View = {
  server: 'redis://127.0.0.1:6379',
  interval: 1000,
  freshness: FRESH,
  name: undefined,
  watched: MANY,
  filter: '',
  order: 2,
  selected: 3,
  message: undefined,
  trouble: undefined,
  help: false,
  now: NOW,
};
const ONE: View = { ...VIEW, name: 'video-encoders', watched: MANY.slice(0, 1), order: 0 };
const LOST: Freshness = { ...FRESH, state: 'not connected', age: 6100 };

const SIZES = { small: [40, 12], usual: [80, 24], large: [120, 40] } as const;

async function capture(lines: readonly Line[], columns: number, rows: number): Promise<string> {
  const terminal = new CapturedTerminal(columns, rows);
  await terminal.write(screenText(lines, true));
  const parts = [terminal.lines, [`${'─'.repeat(columns)} and how it looks`], terminal.styles];
  const text = parts.flat().map((line) => line.trimEnd());
  return `${text.join('\n').trimEnd()}\n`;
}

describe('captures of redsem watch in a terminal', () => {
  for (const [title, view, sizes] of [
    ['overview', VIEW, ['small', 'usual', 'large']],
    ['detail', ONE, ['small', 'usual', 'large']],
    ['among those who wait', { ...ONE, selected: 30, filter: 'EU-west' }, ['usual']],
    ['not connected', { ...ONE, freshness: LOST }, ['usual', 'small']],
    ['nothing there', { ...VIEW, watched: [] }, ['small']],
    ['help', { ...VIEW, help: true }, ['small']],
  ] as const) {
    for (const size of sizes) {
      it(`${title}, ${size}`, async () => {
        const [columns, rows] = SIZES[size];
        const shown = await capture(frame(view, { columns, rows }), columns, rows);
        const file = new URL(`${title.replaceAll(' ', '-')}.${columns}x${rows}.txt`, FOLDER);
        mkdirSync(FOLDER, { recursive: true });
        if (WRITES) writeFileSync(file, shown);
        expect(shown).to.equal(readFileSync(file, 'utf8'));
      });
    }
  }
});
