import type { Span } from '../checker/span-index.js';

export const WIDTH = 1100;
export const LEFT = 90;
export const RIGHT = 20;
/** Where the slots begin; above them is the title, and the notes on faults. */
export const TOP = 130;
export const FAINT = '#6b7280';

/** What is fewer pixels apart is drawn as one: a long run must not make a large file. */
const DETAIL = 4;

/** The part of echarts' drawing interface that is used here. */
export interface DrawingApi {
  coord(point: readonly [number, number]): readonly [number, number];
}

/** How far apart two moments are that are drawn as one, in milliseconds. */
export function nearness({ from, to }: Span): number {
  return ((to - from) / (WIDTH - LEFT - RIGHT)) * DETAIL;
}

/** A rectangle as a part of a path: one path for many takes a fraction of the space. */
export function boxOf(x: number, y: number, width: number, height: number): string {
  const [left, top, right, bottom] = [x, y, x + width, y + height].map((at) => at.toFixed(1));
  return `M${left} ${top}L${right} ${top}L${right} ${bottom}L${left} ${bottom}Z`;
}
