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
  readonly scenario: string;
  readonly peers: readonly Peer[];
  /** One bar each, under one another; the label is in front of the number. */
  readonly figures: readonly { readonly figure: string; readonly label: string }[];
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

/**
 * Horizontal bars on a logarithmic axis: medians, with a whisker from the lowest to the highest
 * round.
 */
export function barChart(options: BarChartOptions): Chart {
  const { file, title, results, scenario, figures } = options;
  const bars = options.peers.flatMap((peer) => {
    const spreads = figures.map(({ figure }) => results.spread(scenario, peer.id, figure));
    return spreads.every((spread) => spread === undefined) ? [] : [{ peer, spreads }];
  });
  const series = figures.flatMap(({ label }, index) => {
    const rows = bars.map(({ peer, spreads }) => ({ peer, spread: spreads[index] }));
    return [barSeries(rows, index), whiskerSeries(rows, label, index, figures.length)];
  });
  const option = {
    ...frame(title, options.subtitle),
    grid: { left: 150, right: 110, top: 70, bottom: 30 },
    xAxis: {
      type: 'log',
      splitLine: gridLine,
      axisLabel: { color: faint, formatter: numberText, hideOverlap: true },
      ...logBounds(bars.flatMap(({ spreads }) => spreads)),
    },
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

export interface ShareChartOptions {
  readonly file: string;
  readonly title: string;
  readonly subtitle: string;
  /** At most three; x in seconds, y from 0 to 1. */
  readonly lines: readonly {
    readonly label: string;
    readonly points: readonly (readonly [x: number, y: number])[];
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
    series: lines.map((line, i) => lineSeries(line.label, shareColours[i] ?? ink, line.points)),
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

function lineSeries(label: string, color: string, data: readonly (readonly number[])[]): object {
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

/**
 * Whole powers of ten around the values. A bar needs some length, so the lower one is well below
 * them.
 */
function logBounds(spreads: readonly (Spread | undefined)[]): object {
  const values = spreads.flatMap((spread) =>
    spread === undefined ? [] : [spread.low, spread.high],
  );
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
