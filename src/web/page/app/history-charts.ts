import type Chart from 'uplot';
import type { Detail, HistoryPoint } from '../../api-types.js';
import { byId, element, setAttribute } from './dom.js';
import { count, duration, rate } from './format.js';

/** assets.ts puts the chart library before this script. */
declare const uPlot: typeof Chart;

interface Line {
  readonly name: string;
  readonly of: Exclude<keyof HistoryPoint, 't'>;
  /** A custom property of style.css. */
  readonly color: string;
  readonly shape?: 'dashed' | 'filled';
}

interface History {
  readonly id: string;
  readonly title: string;
  readonly lines: readonly Line[];
  readonly format: (value: number | null | undefined) => string;
  /** The axis ends here at the earliest, so that little noise looks little. Default 1. */
  readonly leastMax?: number;
}

const HISTORIES: readonly History[] = [
  {
    id: 'held',
    title: 'Permits',
    format: count,
    lines: [
      { name: 'held', of: 'held', color: '--held', shape: 'filled' },
      { name: 'limit', of: 'limit', color: '--faint', shape: 'dashed' },
    ],
  },
  {
    id: 'waiting',
    title: 'Queue',
    format: count,
    lines: [{ name: 'waiting', of: 'waiting', color: '--full', shape: 'filled' }],
  },
  {
    id: 'grants',
    title: 'Grants',
    format: rate,
    lines: [{ name: 'per second', of: 'grantsPerSecond', color: '--good', shape: 'filled' }],
  },
  {
    id: 'waits',
    title: 'Wait',
    format: duration,
    leastMax: 10,
    lines: [
      { name: 'p50', of: 'waitP50', color: '--held' },
      { name: 'p99', of: 'waitP99', color: '--over', shape: 'dashed' },
    ],
  },
];

const LONGEST_MS = 15 * 60_000;
/** The charts of a view that has just begun show at least this time. */
const SHORTEST_MS = 60_000;
/** No line crosses a longer gap. */
const GAP_MS = 20_000;

/** The last 15 minutes as small charts, with their values at the pointer. */
export function makeCharts(): (detail: Detail) => void {
  const shows = HISTORIES.map(makeChart);
  return ({ history, at }) => {
    const points = withGaps(history);
    const since = Math.min(history[0]?.t ?? at, at - SHORTEST_MS);
    for (const show of shows) show(points, Math.max(since, at - LONGEST_MS), at);
  };
}

type ShowPoints = (points: readonly Point[], min: number, max: number) => void;

function makeChart(history: History): ShowPoints {
  const { id, title, lines, format } = history;
  const head = element('div', { class: 'caption' }, element('h2', {}, title));
  const area = element('div', { class: 'chart-area' });
  const attributes = { class: 'card chart', id: `chart-${id}`, role: 'img' };
  const figure = element('div', attributes, head, area);
  byId('charts').append(figure);
  const plot = new uPlot(plotOptions(history, head), [[], ...lines.map(() => [])], area);
  new ResizeObserver(() => {
    if (area.clientWidth === 0) return;
    plot.setSize({ width: area.clientWidth, height: area.clientHeight });
  }).observe(area);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => plot.redraw());
  return (points, min, max) => {
    const values = lines.map(({ of }) =>
      points.map((point) => (point.isGap === true ? null : point[of])),
    );
    plot.setData([points.map(({ t }) => t / 1000), ...values], false);
    plot.setScale('x', { min: min / 1000, max: max / 1000 });
    // For screen readers.
    const summary = lines.map(({ name }, nth) => {
      const highest = Math.max(0, ...(values[nth] ?? []).map((value) => value ?? 0));
      return `${name} ${format(lastOf(values[nth]))}, at most ${format(highest)}`;
    });
    setAttribute(figure, 'aria-label', `${title}, last 15 minutes: ${summary.join('; ')}`);
  };
}

function plotOptions({ lines, format, leastMax = 1 }: History, head: HTMLElement): Chart.Options {
  // Style sheets do not reach into a canvas: its text grows with the text around it.
  const scale = parseFloat(getComputedStyle(document.documentElement).fontSize) / 14;
  const axis: Chart.Axis = {
    stroke: () => color('--faint'),
    grid: { stroke: () => color('--line'), width: 1 },
    ticks: { show: false },
    font: `${Math.round(11 * scale)}px system-ui, sans-serif`,
  };
  const amounts: Chart.Axis.Values = (_plot, ticks) =>
    ticks.map((tick) => (tick === 0 ? '0' : format(tick)));
  return {
    width: 300,
    height: 120,
    legend: {
      mount: (_plot, legend) => head.append(legend),
      markers: {
        stroke: (_plot, nth) => `var(${lines[nth - 1]?.color})`,
        dash: (_plot, nth) => (lines[nth - 1]?.shape === 'dashed' ? 'dashed' : 'solid'),
        fill: 'none',
      },
    },
    padding: [6, 8, 0, 0],
    cursor: { sync: { key: 'redsem' }, drag: { x: false, y: false }, points: { size: 6 } },
    scales: { y: { range: (_plot, _min, max) => [0, 1.15 * Math.max(max, leastMax)] } },
    axes: [
      { ...axis, size: 24 * scale, space: 70 * scale, values: clocks },
      { ...axis, size: 52 * scale, space: 32, values: amounts },
    ],
    series: [{}, ...lines.map((line) => seriesOf(line, format))],
  };
}

function seriesOf({ name, color: property, shape }: Line, format: History['format']): Chart.Series {
  return {
    label: name,
    // The value at the pointer, else the last value.
    value: (plot, value, nth, index) => format(index === null ? lastOf(plot.data[nth]) : value),
    stroke: () => color(property),
    width: 1.5,
    points: { show: false },
    ...(shape === 'dashed' && { dash: [4, 4] }),
    ...(shape === 'filled' && { fill: () => `${color(property)}26` }),
  };
}

function lastOf(values: Iterable<number | null | undefined> = []): number | null | undefined {
  return [...values].findLast((value) => value !== null);
}

/** The present colour of style.css, a hexadecimal: it changes with the system. */
function color(property: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(property).trim();
}

const clocks: Chart.Axis.Values = (_plot, seconds, _axis, _space, step) =>
  seconds.map((second) => new Date(second * 1000).toTimeString().slice(0, step < 60 ? 8 : 5));

type Point = HistoryPoint & { readonly isGap?: true };

/** The line breaks over times without a look. */
function withGaps(history: readonly HistoryPoint[]): readonly Point[] {
  return history.flatMap((point, nth) => {
    const before = history[nth - 1];
    if (before === undefined || point.t - before.t <= GAP_MS) return [point];
    return [{ ...before, t: before.t + 1, isGap: true as const }, point];
  });
}
