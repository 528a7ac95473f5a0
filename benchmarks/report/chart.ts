import { boxes, FAINT, INK, line, round, svg, text } from '../../verification/support/svg.js';
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

const WIDTH = 760;
const TOP = 70;
const GRID = '#e5e7eb';
/** Dark and light, for a first and a second figure. */
const COLOURS: Record<Peer['kind'], readonly [string, string]> = {
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
  const rows = options.peers.flatMap((peer) => {
    const spreads = figures.map(({ figure }) => results.spread(scenario, peer.id, figure));
    return spreads.every((spread) => spread === undefined) ? [] : [{ peer, spreads }];
  });
  const height = figures.length === 1 ? 34 : 48;
  const bottom = TOP + rows.length * height;
  const [least, most] = logBounds(rows.flatMap(({ spreads }) => spreads));
  const [left, width] = [150, WIDTH - 260];
  const x = (value: number): number =>
    left + (width * (Math.log10(value) - least)) / (most - least);
  const powers = Array.from({ length: most - least + 1 }, (_, i) => 10 ** (least + i));
  const axis = powers.flatMap((power) => [
    line(`M${round(x(power))} ${TOP}V${bottom}`, GRID),
    text(numberText(power), { x: x(power), y: bottom + 18, fill: FAINT, anchor: 'middle' }),
  ]);
  const bars = rows.flatMap(({ peer, spreads }, row) => {
    const middle = TOP + (row + 0.5) * height;
    const drawn = spreads.flatMap((spread, i) => {
      if (spread === undefined) return [];
      const y = middle + (i - (figures.length - 1) / 2) * 17;
      const box = { from: left, to: x(spread.median), y: y - 8, height: 16 };
      const words = `${figures[i]?.label ?? ''} ${numberText(spread.median)}`.trim();
      return [
        boxes([box], COLOURS[peer.kind][i] ?? COLOURS[peer.kind][1]),
        whisker(x(spread.low), x(spread.high), y),
        text(words, { x: x(spread.high) + 8, y: y + 4 }),
      ];
    });
    return [text(peer.label, { x: left - 8, y: middle + 4, size: 13, anchor: 'end' }), ...drawn];
  });
  const parts = [...axis, line(`M${left} ${TOP}V${bottom}`, FAINT), ...bars];
  return { file, title, svg: picture(title, options.subtitle, bottom + 40, parts) };
}

function whisker(low: number, high: number, y: number): string {
  if (high - low < 0.1) return '';
  const ends = [low, high].map((x) => `M${round(x)} ${round(y - 3)}v6`);
  return line(`M${round(low)} ${round(y)}H${round(high)}${ends.join('')}`, INK);
}

/**
 * Exponents of the powers of ten around the values. A bar needs some length, so the lower one is
 * well below them.
 */
function logBounds(spreads: readonly (Spread | undefined)[]): [number, number] {
  const values = spreads.flatMap((spread) => (spread ? [spread.low, spread.high] : []));
  const positive = values.filter((value) => value > 0);
  if (positive.length === 0) return [0, 1];
  const least = Math.floor(Math.log10(Math.min(...positive) * 0.8));
  return [least, Math.max(least + 1, Math.ceil(Math.log10(Math.max(...positive))))];
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

const SHARE_COLOURS = ['#0f766e', '#b45309', '#4f46e5'];

/** Parts of a whole over time. */
export function shareChart({ file, title, subtitle, lines }: ShareChartOptions): Chart {
  const [left, width, bottom] = [60, WIDTH - 210, 245];
  const longest = Math.ceil(Math.max(...lines.flatMap(({ points }) => points.map(([at]) => at))));
  const x = (at: number): number => left + (width * at) / longest;
  const y = (share: number): number => bottom - share * (bottom - TOP);
  const shares = [0, 0.2, 0.4, 0.6, 0.8, 1].flatMap((share) => [
    line(`M${left} ${round(y(share))}h${width}`, GRID),
    text(String(share), { x: left - 8, y: y(share) + 4, anchor: 'end' }),
  ]);
  const seconds = Array.from({ length: longest + 1 }, (_, at) =>
    text(String(at), { x: x(at), y: bottom + 18, anchor: 'middle' }),
  );
  const drawn = lines.flatMap(({ label, points }, i) => {
    const colour = SHARE_COLOURS[i] ?? INK;
    const path = points.map(([at, share]) => `${round(x(at))} ${round(y(share))}`).join('L');
    const [at, share] = points.at(-1) ?? [0, 0];
    // Lines that end close to each other keep their labels apart.
    const above = lines.slice(0, i).filter((other) => {
      return Math.abs((other.points.at(-1)?.[1] ?? 0) - share) < 0.08;
    });
    const place = { x: x(at) + 10, y: y(share) + 4 + 16 * above.length, fill: colour, size: 13 };
    return [line(`M${path}`, colour, 'stroke-width="2.5"'), text(label, place)];
  });
  const name = text('seconds', { x: left + width / 2, y: bottom + 38, anchor: 'middle' });
  const parts = [...shares, ...seconds, name, ...drawn];
  return { file, title, svg: picture(title, subtitle, 300, parts) };
}

function picture(
  title: string,
  subtitle: string,
  height: number,
  parts: readonly string[],
): string {
  return svg(WIDTH, height, title, [text(subtitle, { x: 16, y: 48, fill: FAINT }), ...parts]);
}
