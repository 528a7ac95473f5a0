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
  readonly title: string;
  readonly lines: readonly Line[];
  readonly format: (value: number | null | undefined) => string;
  /** The axis ends here at the earliest, so that little noise looks little. Default 1. */
  readonly leastMax?: number;
}

const HELD: Line = { name: 'held', of: 'held', color: '--held', shape: 'filled' };
const LIMIT: Line = { name: 'limit', of: 'limit', color: '--faint', shape: 'dashed' };
const WAITING: Line = { name: 'waiting', of: 'waiting', color: '--full', shape: 'filled' };
const RATE: Line = { name: 'per second', of: 'grantsPerSecond', color: '--good', shape: 'filled' };
const P50: Line = { name: 'p50', of: 'waitP50', color: '--held' };
const P99: Line = { name: 'p99', of: 'waitP99', color: '--over', shape: 'dashed' };

const HISTORIES: readonly History[] = [
  { title: 'Permits', format: count, lines: [HELD, LIMIT] },
  { title: 'Queue', format: count, lines: [WAITING] },
  { title: 'Grants', format: rate, lines: [RATE] },
  { title: 'Wait', format: duration, lines: [P50, P99], leastMax: 10 },
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
    const since = Math.min(history[0]?.t ?? at, at - SHORTEST_MS);
    for (const show of shows) show(history, Math.max(since, at - LONGEST_MS), at);
  };
}

type ShowPoints = (points: readonly HistoryPoint[], min: number, max: number) => void;

function makeChart(history: History): ShowPoints {
  const { title, lines, format } = history;
  const head = element('div', { class: 'caption' }, element('h2', {}, title));
  const area = element('div', { class: 'chart-area' });
  const figure = element('div', { class: 'card chart', role: 'img' }, head, area);
  byId('charts').append(figure);
  const plot = new uPlot(plotOptions(history, head), [[], ...lines.map(() => [])], area);
  new ResizeObserver(() => {
    if (area.clientWidth === 0) return;
    plot.setSize({ width: area.clientWidth, height: area.clientHeight });
  }).observe(area);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => plot.redraw());
  return (points, min, max) => {
    const values = lines.map(({ of }) =>
      points.map((point, nth) => (isAfterGap(point, points[nth - 1]) ? null : point[of])),
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
    stroke: (plot) => color(plot, '--faint'),
    grid: { stroke: (plot) => color(plot, '--line'), width: 1 },
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
    stroke: (plot) => color(plot, property),
    width: 1.5,
    points: { show: false },
    ...(shape === 'dashed' && { dash: [4, 4] }),
    ...(shape === 'filled' && { fill: (plot) => color(plot, property).replace(')', ', 0.15)') }),
  };
}

function lastOf(values: Iterable<number | null | undefined> = []): number | null | undefined {
  return [...values].findLast((value) => value !== null);
}

/** The present `rgb(…)` of a colour of style.css: it changes with the system. */
function color({ root }: Chart, property: string): string {
  root.style.color = `var(${property})`;
  return getComputedStyle(root).color;
}

const clocks: Chart.Axis.Values = (_plot, seconds, _axis, _space, step) =>
  seconds.map((second) => new Date(second * 1000).toTimeString().slice(0, step < 60 ? 8 : 5));

/** The line breaks over times without a look. */
function isAfterGap({ t }: HistoryPoint, before: HistoryPoint | undefined): boolean {
  return before !== undefined && t - before.t > GAP_MS;
}
