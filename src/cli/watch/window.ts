/** Which of many rows are on the screen. */
export interface Window {
  readonly from: number;
  readonly to: number;
}

/** At most `room` rows of `count`, around the selected one. */
export function windowAround(selected: number, count: number, room: number): Window {
  const visible = Math.max(0, Math.min(room, count));
  const from = Math.max(0, Math.min(selected - Math.floor(visible / 2), count - visible));
  return { from, to: from + visible };
}

/** `12-30 of 512`; empty where all rows are on the screen. */
export function positionOf({ from, to }: Window, count: number): string {
  if (to - from >= count) return '';
  return to === from ? `0 of ${count}` : `${from + 1}-${to} of ${count}`;
}
