import { init } from 'echarts';

import { UncertainHolds } from '../checker/uncertain-holds.js';
import type { Hold, RunRecord } from '../checker/run-record.js';
import type { Span } from '../checker/span-index.js';
import { boxOf, type DrawingApi, FAINT, LEFT, nearness, RIGHT, TOP, WIDTH } from './drawing.js';
import { faultSeries } from './fault-bands.js';

const LANE = 26;
const LINES = 110;
const INK = '#1f2937';
const WORKER_COLOURS = ['#0f766e', '#b45309', '#4338ca', '#be185d'];
const STRIP_COLOUR = '#5eb5ab';
const LIMIT_COLOUR = '#dc2626';

/** One rectangle: from, to, lane, colour. */
type Bar = readonly [number, number, number, string];

export interface TimelineOptions {
  readonly title: string;
  readonly span: Span;
}

/** The holder of each slot, the number of permits held, and the faults, as SVG. */
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
  const near = nearness(span);
  const merged = near > 60;
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
        hold.granted - before[1] < near
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

function barSeries(bars: readonly Bar[], seconds: (at: number) => number): object {
  const colours = [...new Set(bars.map(([, , , colour]) => colour))];
  return {
    type: 'custom',
    clip: true,
    data: colours.map(() => [0, 0]),
    renderItem: ({ dataIndex }: { dataIndex: number }, api: DrawingApi) => {
      const fill = colours[dataIndex];
      const boxes = bars
        .filter(([, , , colour]) => colour === fill)
        .map(([from, to, lane]) => {
          const [x, y] = api.coord([seconds(from), lane]);
          const [end] = api.coord([seconds(to), lane]);
          return boxOf(x, y - LANE * 0.35, Math.max(end - x, 0.5), LANE * 0.7);
        });
      return { type: 'path', shape: { pathData: boxes.join('') }, style: { fill } };
    },
  };
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

/**
 * How many permits were held, and how many more were believed in by holders that could not know
 * that a fault took theirs.
 */
function heldLines(run: RunRecord): Line[] {
  const doubts = new UncertainHolds(run);
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
      lineStyle: { color: LIMIT_COLOUR },
      label: { show: false },
      data: [{ yAxis: run.header.limit }],
    },
  };
}

/** The level after each step; of the steps that are drawn as one only the highest and the last. */
function levelsOf(spans: Line['spans'], span: Span): [number, number][] {
  const { from, to } = span;
  const steps = spans
    .flatMap((each) => [
      { at: each.from, change: each.permits },
      { at: each.to, change: -each.permits },
    ])
    .toSorted((a, b) => a.at - b.at || a.change - b.change);
  const near = nearness(span);
  const points: [number, number][] = [];
  let level = 0;
  let highest: [number, number] | undefined;
  for (const { at, change } of steps) {
    level += change;
    if (at < from || at > to) continue;
    if (highest === undefined || at - highest[0] >= near) {
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
  // What only echarts itself would read again.
  return `${svg.trim().replaceAll(/ (?:ecmeta_\w+|pointer-events)="[^"]*"/g, '')}\n`;
}
