import { init } from 'echarts';

import type { Peer } from '../peers/catalog.js';
import { numberText } from './number-text.js';
import type { Results, Spread } from './results.js';

/** An SVG picture, in a file of that name. */
export interface Chart {
  readonly file: string;
  readonly title: string;
  readonly svg: string;
}

export interface BarChartOptions {
  readonly file: string;
  readonly title: string;
  readonly subtitle: string;
  readonly results: Results;
  readonly bars: readonly { readonly peer: Peer; readonly scenario: string }[];
  /** One bar each, under one another; the label is in front of the number. */
  readonly figures: readonly { readonly figure: string; readonly label: string }[];
  readonly logarithmic?: boolean;
}

export interface LineChartOptions {
  readonly file: string;
  readonly title: string;
  readonly subtitle: string;
  readonly xName: string;
  readonly lines: readonly {
    readonly peer: Peer;
    readonly points: readonly { readonly x: number; readonly y: number | undefined }[];
  }[];
}

const width = 760;
const ink = '#1f2937';
const faint = '#6b7280';
const gridLine = { lineStyle: { color: '#e5e7eb' } };
/** Dark and light, for a first and a second figure. */
const colours: Record<Peer['kind'], readonly [string, string]> = {
  redsem: ['#0f766e', '#5eb5ab'],
  peer: ['#64748b', '#b6c0cd'],
  floor: ['#d6d3d1', '#e7e5e4'],
};

/** Horizontal bars: medians, with a whisker from the lowest to the highest round. */
export function barChart(options: BarChartOptions): Chart {
  const { file, title, results, figures, logarithmic = false } = options;
  const bars = options.bars.flatMap(({ peer, scenario }) => {
    const spreads = figures.map(({ figure }) => results.spread(scenario, peer.id, figure));
    return spreads.every((spread) => spread === undefined) ? [] : [{ peer, spreads }];
  });
  const all = bars.flatMap(({ spreads }) => spreads.flatMap((spread) => spread ?? []));
  const series = figures.flatMap(({ label }, index) => {
    const rows = bars.map(({ peer, spreads }) => ({ peer, spread: spreads[index] }));
    return [barSeries(rows, index), whiskerSeries(rows, label, index, figures.length)];
  });
  const option = {
    ...frame(title, options.subtitle),
    grid: { left: 150, right: 110, top: 70, bottom: 30 },
    xAxis: valueAxis(all, logarithmic),
    yAxis: {
      type: 'category',
      inverse: true,
      data: bars.map(({ peer }) => peer.label),
      axisTick: { show: false },
      axisLine: { lineStyle: { color: faint } },
      axisLabel: { color: ink, fontSize: 13 },
    },
    series,
  };
  const height = 110 + bars.length * (figures.length === 1 ? 34 : 48);
  return { file, title, svg: render(option, height) };
}

/**
 * Lines on two logarithmic axes, with the growth as log n from the first redsem point for
 * comparison.
 */
export function lineChart(options: LineChartOptions): Chart {
  const { file, title, xName, lines } = options;
  const known = lines.map(({ peer, points }) => ({
    peer,
    points: points.flatMap(({ x, y }): Point[] => (y === undefined ? [] : [[x, y]])),
  }));
  const drawn = known.map(({ peer, points }) => ({
    points,
    series: lineSeries(peer.label, colours[peer.kind][0], points),
  }));
  for (const { peer, points } of known) {
    if (peer.kind === 'redsem') drawn.push(logarithm(points));
  }
  const heights = drawn.flatMap(({ points }) => points.map(([, y]) => y));
  const axis = {
    type: 'log',
    splitLine: gridLine,
    axisLabel: { color: ink, formatter: numberText },
  };
  const option = {
    ...frame(title, options.subtitle),
    grid: { left: 70, right: 190, top: 70, bottom: 55 },
    xAxis: { ...axis, name: xName, nameLocation: 'middle', nameGap: 32, min: 10 },
    yAxis: { ...axis, ...logBounds(heights) },
    series: drawn.map(({ series }) => series),
  };
  return { file, title, svg: render(option, 380) };
}

export interface ShareChartOptions {
  readonly file: string;
  readonly title: string;
  readonly subtitle: string;
  /** At most three; `x` in seconds, `y` from 0 to 1. */
  readonly lines: readonly {
    readonly label: string;
    readonly points: readonly { readonly x: number; readonly y: number | undefined }[];
  }[];
}

const shareColours = ['#0f766e', '#b45309', '#4f46e5'];

/** Parts of a whole over time. */
export function shareChart({ file, title, subtitle, lines }: ShareChartOptions): Chart {
  const label = { color: ink };
  const option = {
    ...frame(title, subtitle),
    grid: { left: 60, right: 150, top: 70, bottom: 55 },
    xAxis: {
      type: 'value',
      name: 'seconds',
      nameLocation: 'middle',
      nameGap: 32,
      axisLabel: label,
    },
    yAxis: { type: 'value', min: 0, max: 1, splitLine: gridLine, axisLabel: label },
    series: lines.map(({ label: name, points }, i) => {
      const known = points.flatMap(({ x, y }): Point[] => (y === undefined ? [] : [[x, y]]));
      return lineSeries(name, shareColours[i] ?? ink, known);
    }),
  };
  return { file, title, svg: render(option, 300) };
}

interface BarRow {
  readonly peer: Peer;
  readonly spread: Spread | undefined;
}

const barLayout = { barCategoryGap: '30%', barGap: '10%' };

function barSeries(rows: readonly BarRow[], index: number): object {
  const data = rows.map(({ peer, spread }) => ({
    value: spread?.median ?? null,
    itemStyle: { color: colours[peer.kind][index] ?? colours[peer.kind][1] },
  }));
  return { type: 'bar', ...barLayout, data };
}

/** What echarts hands to the renderer of a series of one's own. */
interface RenderApi {
  value(dimension: number): number;
  coord(point: readonly number[]): [number, number];
  barLayout(options: object): readonly { readonly offsetCenter: number }[];
}

/** The whisker from the lowest to the highest round, and the median in figures where it ends. */
function whiskerSeries(
  rows: readonly BarRow[],
  label: string,
  index: number,
  count: number,
): object {
  const renderItem = (_: unknown, api: RenderApi): object => {
    const [row, low, high, middle] = [0, 1, 2, 3].map((dimension) => api.value(dimension));
    const [lowX, y] = api.coord([low ?? 0, row ?? 0]);
    const [highX] = api.coord([high ?? 0, row ?? 0]);
    const at = y + (api.barLayout({ count, ...barLayout })[index]?.offsetCenter ?? 0);
    const ends = [lowX, highX].map((x) => stroke(x, at - 3, x, at + 3));
    const lines = low === high ? [] : [stroke(lowX, at, highX, at), ...ends];
    return { type: 'group', children: [...lines, caption(label, middle ?? NaN, highX + 8, at)] };
  };
  const data = rows.flatMap(({ spread }, row) =>
    spread === undefined ? [] : [[row, spread.low, spread.high, spread.median]],
  );
  return { type: 'custom', renderItem, encode: { x: [1, 2], y: 0 }, data, z: 3, silent: true };
}

function caption(label: string, value: number, x: number, y: number): object {
  const text = `${label} ${numberText(value)}`.trim();
  return { type: 'text', style: { text, x, y, fill: ink, fontSize: 12, verticalAlign: 'middle' } };
}

function stroke(x1: number, y1: number, x2: number, y2: number): object {
  return { type: 'line', shape: { x1, y1, x2, y2 }, style: { stroke: ink, lineWidth: 1 } };
}

function lineSeries(label: string, color: string, data: readonly Point[]): object {
  return {
    type: 'line',
    name: label,
    data,
    color,
    symbol: 'circle',
    symbolSize: 7,
    lineStyle: { width: 2.5 },
    endLabel: { show: true, formatter: label, color, fontSize: 13, distance: 10 },
    labelLayout: { moveOverlap: 'shiftY' },
  };
}

type Point = readonly [number, number];

/** What grew as log n would do from the first point on. */
function logarithm(measured: readonly Point[]): { points: Point[]; series: object } {
  const [first] = measured;
  const points = measured.map(([x, y]): Point => [
    x,
    first === undefined ? y : first[1] * logRatio(x, first[0]),
  ]);
  const series = {
    ...lineSeries('log n', faint, points),
    symbol: 'none',
    lineStyle: { width: 1, type: 'dashed' },
  };
  return { points, series };
}

function logRatio(x: number, from: number): number {
  return Math.log(x) / Math.log(from);
}

function valueAxis(spreads: readonly Spread[], logarithmic: boolean): object {
  const label = { color: faint, formatter: numberText, hideOverlap: true };
  if (!logarithmic) return { type: 'value', splitLine: gridLine, axisLabel: label };
  const bounds = logBounds(spreads.flatMap(({ low, high }) => [low, high]));
  return { type: 'log', splitLine: gridLine, axisLabel: label, ...bounds };
}

/**
 * Whole powers of ten around the values. A bar needs some length, so the lower one is well below
 * them.
 */
function logBounds(values: readonly number[]): object {
  const positive = values.filter((value) => value > 0);
  if (positive.length === 0) return {};
  return {
    min: 10 ** Math.floor(Math.log10(Math.min(...positive) * 0.8)),
    max: 10 ** Math.ceil(Math.log10(Math.max(...positive))),
  };
}

function frame(text: string, subtext: string): object {
  return {
    animation: false,
    backgroundColor: '#ffffff',
    textStyle: { fontFamily: 'Helvetica, Arial, sans-serif' },
    title: {
      text,
      subtext,
      left: 16,
      top: 12,
      textStyle: { color: ink, fontSize: 16 },
      subtextStyle: { color: faint, fontSize: 12 },
    },
  };
}

function render(option: object, height: number): string {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width, height });
  chart.setOption(option);
  const svg = chart.renderToSVGString();
  chart.dispose();
  return `${svg.trim()}\n`;
}
