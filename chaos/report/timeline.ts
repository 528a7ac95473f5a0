import { init } from 'echarts';

import { Doubts } from '../checker/doubt.js';
import type { Fault, Hold, RunRecord } from '../checker/run-record.js';
import type { Span } from '../checker/span-index.js';

const WIDTH = 1100;
const LANE = 26;
const LEFT = 90;
const RIGHT = 20;
const TOP = 130;
const LINES = 110;
const INK = '#1f2937';
const FAINT = '#6b7280';
const WORKER_COLOURS = ['#0f766e', '#b45309', '#4338ca', '#be185d'];
const STRIP_COLOUR = '#5eb5ab';
const FAULT_COLOUR = '#dc2626';

/** With more faults than that in a picture, their names would cover each other. */
const NAMED = 40;

/** One rectangle: from, to, lane, colour. */
type Bar = readonly [number, number, number, string];

export interface TimelineOptions {
  readonly title: string;
  readonly span: Span;
}

/** Who held which slot, how many permits were held, and when faults struck, as SVG. */
export function drawTimeline(run: RunRecord, { title, span }: TimelineOptions): string {
  const { limit } = run.header;
  const lanes = limit * LANE;
  const seconds = (at: number): number => (at - run.header.at) / 1000;
  const axis = {
    min: Math.floor(seconds(span.from)),
    max: Math.ceil(seconds(span.to)),
    type: 'value',
    axisLabel: { color: FAINT },
  };
  const at = { left: LEFT, right: RIGHT, outerBoundsMode: 'none' };
  const faults = run.faults.filter(({ from, to }) => to >= span.from && from <= span.to);
  return render(TOP + lanes + LINES + 80, {
    animation: false,
    backgroundColor: '#ffffff',
    textStyle: { fontFamily: 'Helvetica, Arial, sans-serif', color: INK },
    title: { text: title, left: 16, top: 12, textStyle: { color: INK, fontSize: 16 } },
    legend: {
      right: RIGHT,
      top: 12,
      data: heldLines(run).map(({ name }) => name),
      textStyle: { color: FAINT },
    },
    grid: [
      { ...at, top: TOP, height: lanes },
      { ...at, top: TOP + lanes + 40, height: LINES - 20 },
    ],
    xAxis: [
      { ...axis, gridIndex: 0, axisLabel: { show: false }, splitLine: { show: false } },
      { ...axis, gridIndex: 1, name: 'seconds', nameLocation: 'middle', nameGap: 24 },
    ],
    yAxis: [
      laneAxis(limit),
      {
        gridIndex: 1,
        type: 'value',
        minInterval: 1,
        name: 'permits held',
        nameTextStyle: { color: FAINT },
      },
    ],
    series: [
      faultSeries(faults, (moment) => seconds(Math.min(moment, span.to)), lanes + LINES + 20),
      barSeries(barsOf(run, span), seconds),
      ...heldLines(run).map((line) => lineSeries(line, run, span, seconds)),
    ],
  });
}

function laneAxis(limit: number): object {
  const data = Array.from({ length: limit }, (_, slot) => `slot ${slot}`);
  return { gridIndex: 0, type: 'category', inverse: true, data, axisTick: { show: false } };
}

/** In a long span, holds that would run into each other on the page are drawn as one. */
function barsOf(run: RunRecord, span: Span): Bar[] {
  const pixel = (span.to - span.from) / (WIDTH - LEFT - RIGHT);
  const merged = pixel > 30;
  const bars: Bar[] = [];
  const last = new Map<number, number>();
  for (const hold of run.holds) {
    if (hold.end < span.from || hold.granted > span.to) continue;
    for (const slot of hold.slots) {
      const index = last.get(slot);
      const before = index === undefined ? undefined : bars[index];
      if (
        merged &&
        before !== undefined &&
        index !== undefined &&
        hold.granted - before[1] < pixel
      ) {
        bars[index] = [before[0], Math.max(before[1], hold.end), slot, STRIP_COLOUR];
      } else {
        last.set(
          slot,
          bars.push([hold.granted, hold.end, slot, merged ? STRIP_COLOUR : colourOf(hold)]) - 1,
        );
      }
    }
  }
  return bars;
}

/** By the worker's place in the crew: its successors have the same. */
function colourOf({ process }: Hold): string {
  const index = Number(/^w(\d+)/.exec(process)?.[1] ?? 0);
  return WORKER_COLOURS[index % WORKER_COLOURS.length] ?? FAINT;
}

/** The part of echarts' drawing interface that is used here. */
interface DrawingApi {
  value(dimension: number): number;
  coord(point: readonly [number, number]): readonly [number, number];
}

function barSeries(bars: readonly Bar[], seconds: (at: number) => number): object {
  return {
    type: 'custom',
    clip: true,
    data: bars.map(([from, to, lane]) => [seconds(from), seconds(to), lane]),
    renderItem: ({ dataIndex }: { dataIndex: number }, api: DrawingApi) => {
      const [x, y] = api.coord([api.value(0), api.value(2)]);
      const [end] = api.coord([api.value(1), api.value(2)]);
      const shape = { x, y: y - LANE * 0.35, width: Math.max(end - x, 0.5), height: LANE * 0.7 };
      return { type: 'rect', shape, style: { fill: bars[dataIndex]?.[3] } };
    },
  };
}

/** Bands over everything for faults that last, lines for those that strike, each with its name above. */
function faultSeries(
  faults: readonly Fault[],
  seconds: (at: number) => number,
  height: number,
): object {
  return {
    type: 'custom',
    data: faults.map(({ from, to }) => [seconds(from), seconds(to)]),
    renderItem: ({ dataIndex }: { dataIndex: number }, api: DrawingApi) => {
      const [x] = api.coord([api.value(0), 0]);
      const [end] = api.coord([api.value(1), 0]);
      const shape = { x, y: TOP, width: Math.max(end - x, 1), height };
      const text = faults.length > NAMED ? '' : describe(faults[dataIndex]);
      const label = { text, fontSize: 9, fill: FAULT_COLOUR, verticalAlign: 'middle' };
      return {
        type: 'group',
        children: [
          { type: 'rect', shape, style: { fill: FAULT_COLOUR, opacity: 0.16 } },
          { type: 'text', x: x + 4, y: TOP - 4, rotation: Math.PI / 3, style: label },
        ],
      };
    },
  };
}

function describe(fault: Fault | undefined): string {
  const { kind = '', step, key, node, targets } = fault ?? {};
  const details = [
    node === undefined ? undefined : `node ${node}`,
    step === undefined ? undefined : `${step / 1000} s`,
    key,
    targets?.join(' '),
  ];
  return [kind, ...details.filter((part) => part !== undefined)].join(' ');
}

interface Line {
  readonly name: string;
  readonly colour: string;
  readonly spans: readonly {
    readonly from: number;
    readonly to: number;
    readonly permits: number;
  }[];
}

/** How many permits were held, and how many more were believed in by those who could not know that a fault took theirs. */
function heldLines(run: RunRecord): Line[] {
  const doubts = new Doubts(run);
  const believed = run.holds.map(({ granted: from, end: to, slots }) => {
    return { from, to, permits: slots.length };
  });
  const held = run.holds.flatMap((hold) =>
    doubts.certain(hold).map(({ from, to }) => ({ from, to, permits: hold.slots.length })),
  );
  return [
    { name: 'believed in', colour: '#f59e0b', spans: believed },
    { name: 'held', colour: '#0f766e', spans: held },
  ];
}

function lineSeries(
  { name, colour, spans }: Line,
  run: RunRecord,
  span: Span,
  seconds: (at: number) => number,
): object {
  return {
    name,
    type: 'line',
    xAxisIndex: 1,
    yAxisIndex: 1,
    step: 'end',
    showSymbol: false,
    itemStyle: { color: colour },
    lineStyle: { color: colour, width: 1 },
    data: levelsOf(spans, span).map(([at, level]) => [seconds(at), level]),
    markLine: {
      silent: true,
      symbol: 'none',
      lineStyle: { color: FAULT_COLOUR },
      label: { show: false },
      data: [{ yAxis: run.header.limit }],
    },
  };
}

/** The level after each step; of the steps within one pixel only the highest and the last. */
function levelsOf(spans: Line['spans'], { from, to }: Span): [number, number][] {
  const steps = spans
    .flatMap((each) => [
      { at: each.from, change: each.permits },
      { at: each.to, change: -each.permits },
    ])
    .toSorted((a, b) => a.at - b.at || a.change - b.change);
  const pixel = (to - from) / (WIDTH - LEFT - RIGHT);
  const points: [number, number][] = [];
  let level = 0;
  let highest: [number, number] | undefined;
  for (const { at, change } of steps) {
    level += change;
    if (at < from || at > to) continue;
    if (highest === undefined || at - highest[0] >= pixel) {
      highest = [at, level];
      points.push(highest, [at, level]);
    } else {
      highest[1] = Math.max(highest[1], level);
      points[points.length - 1] = [at, level];
    }
  }
  return points;
}

function render(height: number, option: object): string {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: WIDTH, height });
  chart.setOption(option);
  const svg = chart.renderToSVGString();
  chart.dispose();
  return `${svg.trim()}\n`;
}
