import type Chart from 'uplot';

import type { HistoryPoint } from '../../api-types.js';
import { byId, element, setAttribute, setText } from './dom.js';

/** assets.ts puts the chart library before this script. */
declare const uPlot: typeof Chart;

export interface Line {
  readonly name: string;
  /** A custom property of style.css. */
  readonly color: string;
  readonly valueOf: (point: HistoryPoint) => number | null;
  readonly dashed?: boolean;
  readonly filled?: boolean;
}

export interface ChartOptions {
  /** The element of index.html. */
  readonly figure: string;
  readonly title: string;
  readonly lines: readonly Line[];
  readonly format: (value: number | null | undefined) => string;
  /** A single step may show as this much at least, so that little noise looks little. */
  readonly leastMax: number;
}

const LONGEST_MS = 15 * 60_000;
/** A view that has just begun shows what it has, but no less than this. */
const SHORTEST_MS = 60_000;
/** A gap longer than this has no line across it. */
const GAP_MS = 20_000;

/** One small chart over the last 15 minutes, with what its lines were at the pointer, else now. */
export class LineChart {
  readonly #options: ChartOptions;
  readonly #figure: HTMLElement;
  readonly #readings: HTMLElement[];
  readonly #plot: Chart;

  constructor(options: ChartOptions) {
    this.#options = options;
    this.#figure = byId(options.figure);
    this.#readings = options.lines.map(() => element('b'));
    const keys = options.lines.map((line, nth) => this.#makeKey(line, nth));
    const title = element('span', { class: 'chart-title', text: options.title });
    const head = element('div', { class: 'caption', children: [title, ...keys] });
    const area = element('div', { class: 'chart-area', attributes: { 'aria-hidden': 'true' } });
    this.#figure.append(head, area);
    this.#plot = new uPlot(this.#plotOptions(), emptyData(options.lines.length), area);
    new ResizeObserver(() => this.#fit(area)).observe(area);
    const redraw = (): void => this.#plot.redraw();
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  }

  show(history: readonly HistoryPoint[], now: number): void {
    const points = withGaps(history);
    const times = points.map(({ t }) => t / 1000);
    const values = this.#options.lines.map(({ valueOf }) =>
      points.map((point) => (point.isGap === true ? null : valueOf(point))),
    );
    this.#plot.setData([times, ...values], false);
    const since = Math.min(history[0]?.t ?? now, now - SHORTEST_MS);
    const min = Math.max(since, now - LONGEST_MS) / 1000;
    this.#plot.setScale('x', { min, max: now / 1000 });
    this.#read();
  }

  #makeKey({ name, color: property, dashed }: Line, nth: number): HTMLElement {
    const swatch = element('i', { class: `swatch${dashed === true ? ' dashed' : ''}` });
    swatch.style.setProperty('--line', `var(${property})`);
    const reading = this.#readings[nth] as HTMLElement;
    return element('span', { class: 'key', children: [swatch, new Text(`${name} `), reading] });
  }

  #fit(area: HTMLElement): void {
    if (area.clientWidth === 0) return;
    this.#plot.setSize({ width: area.clientWidth, height: area.clientHeight });
  }

  /**
   * The values at the pointer, else the last ones; the whole range for readers that cannot see it.
   */
  #read(): void {
    const { format, lines, title } = this.#options;
    const at = this.#plot.cursor.idx;
    const summary = lines.map(({ name }, nth) => {
      const values = [...(this.#plot.data[nth + 1] ?? [])];
      const last = values.findLast((value) => value !== null);
      const reading = at === null || at === undefined ? last : values[at];
      setText(this.#readings[nth] as HTMLElement, format(reading));
      const highest = values.reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
      return `${name} ${format(last)}, at most ${format(highest)}`;
    });
    setAttribute(this.#figure, 'aria-label', `${title}, last 15 minutes: ${summary.join('; ')}`);
  }

  #plotOptions(): Chart.Options {
    const { lines, format, leastMax } = this.#options;
    // Style sheets do not reach into a canvas: its text grows with that around it.
    const scale = parseFloat(getComputedStyle(document.documentElement).fontSize) / 14;
    const axis: Chart.Axis = {
      stroke: () => color('--faint'),
      grid: { stroke: () => color('--line'), width: 1 },
      ticks: { show: false },
      font: `${Math.round(11 * scale)}px system-ui, sans-serif`,
    };
    return {
      width: 300,
      height: 120,
      legend: { show: false },
      padding: [6, 8, 0, 0],
      cursor: { sync: { key: 'redsem' }, drag: { x: false, y: false }, points: { size: 6 } },
      scales: {
        x: { time: true },
        y: { range: (_plot, _min, max) => [0, niceMax(Math.max(max, leastMax))] },
      },
      axes: [
        {
          ...axis,
          size: 24 * scale,
          space: 70 * scale,
          values: (_plot, times, _axis, _space, step) => times.map((time) => clock(time, step)),
        },
        {
          ...axis,
          size: 52 * scale,
          space: 32,
          values: (_plot, ticks) => ticks.map((tick) => (tick === 0 ? '0' : format(tick))),
        },
      ],
      series: [{}, ...lines.map(seriesOf)],
      hooks: { setCursor: [() => this.#read()] },
    };
  }
}

function seriesOf({ name, color: property, dashed, filled }: Line): Chart.Series {
  return {
    label: name,
    stroke: () => color(property),
    width: 1.5,
    points: { show: false },
    ...(dashed === true ? { dash: [4, 4] } : {}),
    ...(filled === true ? { fill: () => `${color(property)}26` } : {}),
  };
}

/** A hexadecimal colour of style.css, as it is now: it changes with the system. */
function color(property: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(property).trim();
}

/** @param step seconds between two of them */
function clock(seconds: number, step: number): string {
  const [hours, minutes, rest] = new Date(seconds * 1000).toTimeString().split(/[: ]/);
  return step < 60 ? `${hours}:${minutes}:${rest}` : `${hours}:${minutes}`;
}

/** A little room above the highest value. */
function niceMax(max: number): number {
  return max * 1.15;
}

/** Where nobody looked, the line breaks. */
function withGaps(history: readonly HistoryPoint[]): readonly (HistoryPoint & { isGap?: true })[] {
  return history.flatMap((point, nth) => {
    const before = history[nth - 1];
    if (before === undefined || point.t - before.t <= GAP_MS) return [point];
    return [{ ...before, t: before.t + 1, isGap: true as const }, point];
  });
}

function emptyData(lines: number): Chart.AlignedData {
  return [[], ...Array.from({ length: lines }, () => [])];
}
