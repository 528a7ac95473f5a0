const counts = new Intl.NumberFormat('en');
const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
] as const;

/** In place of a missing number. */
export const NOTHING = '–';

export function count(value: number | null | undefined): string {
  return value === null || value === undefined ? NOTHING : counts.format(value);
}

/** `1 permit`, `2 permits`. */
export function plural(value: number, noun: string): string {
  return `${counts.format(value)} ${noun}${value === 1 ? '' : 's'}`;
}

/** At most two units: `420 ms`, `4.2 s`, `42 s`, `3 m 20 s`, `2 h 5 m`. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return NOTHING;
  const positive = Math.max(0, ms);
  if (positive < 999.5) return `${Math.round(positive)} ms`;
  if (positive < 9950) return `${(positive / 1000).toFixed(1)} s`;
  const rounded = Math.round(positive / 1000) * 1000;
  const first = UNITS.findIndex(([, size]) => rounded >= size);
  const [unit, size] = UNITS[first] ?? UNITS[3];
  const next = UNITS[first + 1];
  const rest = next === undefined ? 0 : Math.floor((rounded % size) / next[1]);
  const head = `${Math.floor(rounded / size)} ${unit}`;
  return next === undefined || rest === 0 ? head : `${head} ${rest} ${next[0]}`;
}

/** Per second. */
export function rate(value: number | null | undefined): string {
  if (value === null || value === undefined) return NOTHING;
  return value > 0 && value < 9.95 ? value.toFixed(1) : counts.format(Math.round(value));
}

export function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
