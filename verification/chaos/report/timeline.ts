import { boxes, FAINT, line, round, svg, text } from '../../support/svg.js';
import type { Fault, RunRecord } from '../checker/run-record.js';
import type { Span } from '../checker/span-index.js';
import { UncertainHolds } from '../checker/uncertain-holds.js';

const WIDTH = 1100;
const [LEFT, RIGHT] = [90, 20];
/** Where the slots begin; above them are the title and the names of faults. */
const TOP = 130;
const LANE = 26;
/** The height of the lines below the slots, and what is between them. */
const [LINES, GAP] = [90, 40];

/** What is fewer pixels apart is drawn as one: a long run must not make a large file. */
const NEAR = 4;
/** Bands with the names of more faults would cover each other: each kind has a row then. */
const NAMED = 40;

const RED = '#dc2626';
const [BELIEVED, HELD] = ['#f59e0b', '#0f766e'];
const STRIP = '#5eb5ab';

/** Where a moment is, in pixels from the left. */
type Scale = (at: number) => number;

/** The holder of each slot, the number of permits held, and the faults, as SVG. */
export function drawTimeline(run: RunRecord, title: string, span: Span): string {
  const chart = TOP + run.header.limit * LANE + GAP;
  const bottom = chart + LINES;
  const width = WIDTH - LEFT - RIGHT;
  const x: Scale = (at) => {
    const share = (at - span.from) / (span.to - span.from);
    return LEFT + width * Math.min(1, Math.max(0, share));
  };
  const faults = run.faults.filter(({ from, to }) => to >= span.from && from <= span.to);
  const parts = [
    text('believed in', { x: WIDTH - 120, y: 28, fill: BELIEVED }),
    text('held', { x: WIDTH - 48, y: 28, fill: HELD }),
    ...(faults.length > NAMED ? rows(faults, x) : bands(faults, x, bottom)),
    ...slots(run, span, x),
    ...lines(run, x, bottom),
    ...seconds(run, span, x, bottom),
  ];
  return svg(WIDTH, bottom + 50, title, parts);
}

/** Over everything, each with its name above. */
function bands(faults: readonly Fault[], x: Scale, bottom: number): string[] {
  const names = faults.map(({ kind, step, key, node, targets, from }) => {
    const by = step === undefined ? undefined : `${step / 1000} s`;
    const details = [node === undefined ? undefined : `node ${node}`, by, key, targets?.join(' ')];
    const name = [kind, ...details.filter((part) => part !== undefined)].join(' ');
    return text(name, { x: x(from) + 4, y: TOP - 4, size: 9, fill: RED, turn: -60 });
  });
  const area = { y: TOP, height: bottom - TOP };
  const drawn = faults.map(({ from, to }) => ({ from: x(from), to: x(to), ...area }));
  return [boxes(drawn, RED, 0.16), ...names];
}

/** One for each kind, above the slots. */
function rows(faults: readonly Fault[], x: Scale): string[] {
  const kinds = [...new Set(faults.map(({ kind }) => kind))].toSorted();
  const height = (TOP - 46) / kinds.length;
  const names = kinds.map((kind, row) =>
    text(kind, { x: LEFT - 6, y: 40 + (row + 0.9) * height, size: 7, fill: RED, anchor: 'end' }),
  );
  const drawn = faults.map(({ kind, from, to }) => {
    const y = 40 + kinds.indexOf(kind) * height;
    return { from: x(from), to: x(to), y, height: height - 1 };
  });
  return [...names, boxes(drawn, RED, 0.8)];
}

/** Holds that would run into each other on the page are drawn as one. */
function slots({ header, holds }: RunRecord, span: Span, x: Scale): string[] {
  const drawn: { from: number; to: number }[][] = Array.from({ length: header.limit }, () => []);
  for (const { slots: taken, granted, end } of holds) {
    if (end < span.from || granted > span.to) continue;
    for (const slot of taken) {
      const before = drawn[slot]?.at(-1);
      if (before !== undefined && x(granted) - before.to < NEAR) {
        before.to = Math.max(before.to, x(end));
      } else drawn[slot]?.push({ from: x(granted), to: x(end) });
    }
  }
  return drawn.flatMap((spans, slot) => {
    const y = TOP + slot * LANE;
    const place = { x: LEFT - 8, y: y + 0.65 * LANE, anchor: 'end' } as const;
    const area = { y: y + 0.15 * LANE, height: 0.7 * LANE };
    return [
      text(`slot ${slot}`, place),
      boxes(
        spans.map((each) => ({ ...each, ...area })),
        STRIP,
        1,
      ),
    ];
  });
}

/**
 * How many permits were held, and how many more were believed in by holders that could not know
 * that a fault took theirs.
 */
function lines(run: RunRecord, x: Scale, bottom: number): string[] {
  const doubts = new UncertainHolds(run);
  const believed = levels(run, x, ({ granted, end }) => [{ from: granted, to: end }]);
  const held = levels(run, x, (hold) => doubts.certain(hold));
  const most = Math.max(run.header.limit, ...believed.map(([, level]) => level));
  const y = (level: number): number => bottom - (level / most) * LINES;
  const path = (points: readonly (readonly [number, number])[], colour: string): string => {
    const steps = points.map(([at, level]) => `H${round(at)}V${round(y(level))}`);
    return line(`M${LEFT} ${bottom}${steps.join('')}H${WIDTH - RIGHT}`, colour);
  };
  const levelNames = Array.from({ length: most + 1 }, (_, level) =>
    text(String(level), { x: LEFT - 8, y: y(level) + 4, fill: FAINT, anchor: 'end' }),
  );
  return [
    text('permits held', { x: LEFT, y: bottom - LINES - 12, fill: FAINT, anchor: 'middle' }),
    ...levelNames,
    path(believed, BELIEVED),
    path(held, HELD),
    line(`M${LEFT} ${y(run.header.limit)}H${WIDTH - RIGHT}`, RED, 'stroke-dasharray="4 2"'),
  ];
}

/** The level after each step; of the steps that are drawn as one only the highest and the last. */
function levels(
  { holds }: RunRecord,
  x: Scale,
  spansOf: (hold: RunRecord['holds'][number]) => readonly Span[],
): [number, number][] {
  const steps = holds.flatMap((hold) =>
    spansOf(hold).flatMap(({ from, to }) => [
      { at: from, change: hold.slots.length },
      { at: to, change: -hold.slots.length },
    ]),
  );
  const points: [number, number][] = [];
  let level = 0;
  let highest: [number, number] = [-Infinity, 0];
  for (const { at, change } of steps.toSorted((a, b) => a.at - b.at || a.change - b.change)) {
    level += change;
    if (x(at) - highest[0] >= NEAR) {
      highest = [x(at), level];
      points.push(highest, [x(at), level]);
    } else {
      highest[1] = Math.max(highest[1], level);
      points[points.length - 1] = [x(at), level];
    }
  }
  return points;
}

/** The axis: some ten round numbers of seconds since the start. */
function seconds({ header }: RunRecord, span: Span, x: Scale, bottom: number): string[] {
  const [from, to] = [span.from - header.at, span.to - header.at].map((ms) => ms / 1000);
  const least = ((to ?? 0) - (from ?? 0)) / 10;
  const step = [1, 2, 5, 10, 20, 50, 100, 200, 500].find((whole) => whole >= least) ?? 1000;
  const names = [];
  for (let at = Math.ceil((from ?? 0) / step) * step; at <= (to ?? 0); at += step) {
    const place = { x: x(header.at + at * 1000), y: bottom + 18, fill: FAINT };
    names.push(text(String(at), { ...place, anchor: 'middle' }));
  }
  const title = { x: (LEFT + WIDTH - RIGHT) / 2, y: bottom + 38 };
  const axis = line(`M${LEFT} ${TOP}V${bottom}H${WIDTH - RIGHT}`, FAINT);
  return [axis, ...names, text('seconds', { ...title, anchor: 'middle' })];
}
