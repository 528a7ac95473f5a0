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
  /** Each figure has a panel, and a separate scale that begins at 0. */
  readonly panels: readonly { readonly figure: string; readonly title: string }[];
}

/** Narrow enough that a phone, which shrinks it to its own width, leaves the text readable. */
const barWidth = 520;
const wide = 760;
const panelHead = 34;
const barStep = 26;
const FONTS = 'Helvetica, Arial, sans-serif';
const ink = '#1f2937';
const faint = '#6b7280';
const gridLine = { lineStyle: { color: '#e5e7eb' } };
const colours: Record<Peer['kind'], string> = {
  redsem: '#0f766e',
  peer: '#94a3b8',
  floor: '#d6d3d1',
};

/** Horizontal bars: medians, with a whisker from the lowest to the highest round. */
export function barChart(options: BarChartOptions): Chart {
  const { file, title, results, scenario, panels } = options;
  const rowsOf = (figure: string): BarRow[] =>
    options.peers.flatMap((peer) => {
      const spread = results.spread(scenario, peer.id, figure);
      return spread === undefined ? [] : [{ peer, spread }];
    });
  const parts = panels.map(({ figure, title: head }) => ({ head, rows: rowsOf(figure) }));
  const tops: number[] = [];
  let bottom = 64;
  for (const { rows } of parts) {
    tops.push(bottom + panelHead);
    bottom += panelHead + rows.length * barStep;
  }
  const option = {
    ...frame(title, options.subtitle),
    grid: parts.map(({ rows }, i) => {
      return { left: 150, right: 70, top: tops[i], height: rows.length * barStep };
    }),
    xAxis: parts.map((_, i) => ({ type: 'value', min: 0, show: false, gridIndex: i })),
    yAxis: parts.map(({ rows }, i) => categoryAxis(rows, i)),
    graphic: parts.map(({ head }, i) => panelTitle(head, (tops[i] ?? 0) - 22)),
    series: parts.flatMap(({ rows }, i) => [barSeries(rows, i), whiskerSeries(rows, i)]),
  };
  return { file, title, svg: render(option, barWidth, bottom + 16) };
}

function categoryAxis(rows: readonly BarRow[], index: number): object {
  return {
    type: 'category',
    gridIndex: index,
    inverse: true,
    data: rows.map(({ peer }) => peer.label),
    axisTick: { show: false },
    axisLine: { lineStyle: { color: faint } },
    axisLabel: { color: ink, fontSize: 13 },
  };
}

function panelTitle(text: string, top: number): object {
  return { type: 'text', left: 21, top, style: { text, fill: ink, font: `bold 13px ${FONTS}` } };
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

/** Draws parts of a whole over time. */
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
  return { file, title, svg: render(option, wide, 300) };
}

interface BarRow {
  readonly peer: Peer;
  readonly spread: Spread;
}

function barSeries(rows: readonly BarRow[], index: number): object {
  const data = rows.map(({ peer, spread }) => ({
    value: spread.median,
    itemStyle: { color: colours[peer.kind] },
  }));
  return { type: 'bar', xAxisIndex: index, yAxisIndex: index, barCategoryGap: '30%', data };
}

/** The argument of echarts for the renderer of a custom series. */
interface RenderApi {
  value(dimension: number): number;
  coord(point: readonly number[]): [number, number];
}

function whiskerSeries(rows: readonly BarRow[], index: number): object {
  const data = rows.map(({ spread }, row) => [row, spread.low, spread.high, spread.median]);
  const axes = { xAxisIndex: index, yAxisIndex: index, encode: { x: [1, 2], y: 0 } };
  return { type: 'custom', ...axes, renderItem: whisker, data, z: 3, silent: true };
}

/** Draws a line from the lowest to the highest round, and writes the median at its end. */
function whisker(_: unknown, api: RenderApi): object {
  const [row, low, high, middle] = [0, 1, 2, 3].map((dimension) => api.value(dimension));
  const [lowX, y] = api.coord([low ?? 0, row ?? 0]);
  const [highX] = api.coord([high ?? 0, row ?? 0]);
  const ends = [lowX, highX].map((x) => stroke(x, y - 3, x, y + 3));
  const lines = highX - lowX < 2 ? [] : [stroke(lowX, y, highX, y), ...ends];
  return { type: 'group', children: [...lines, caption(middle ?? NaN, highX + 8, y)] };
}

function caption(value: number, x: number, y: number): object {
  const text = numberText(value);
  return { type: 'text', style: { text, x, y, fill: ink, fontSize: 13, verticalAlign: 'middle' } };
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

function frame(text: string, subtext: string): object {
  return {
    animation: false,
    backgroundColor: '#ffffff',
    textStyle: { fontFamily: FONTS },
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

function render(option: object, width: number, height: number): string {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width, height });
  chart.setOption(option);
  const svg = chart.renderToSVGString();
  chart.dispose();
  return `${svg.trim()}\n`;
}
