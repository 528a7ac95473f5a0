import { quoted } from '../arguments/shown.js';
import { UsageError } from './failure.js';

const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Milliseconds of a duration such as `500ms`, `30s`, `1.5m`, `1h`, `1d`. A bare number other than 0
 * is refused: `timeout` and `flock` mean seconds by it, this library milliseconds.
 */
export function parseDuration(option: string, text: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|[smhd])$/.exec(text);
  if (text === '0') return 0;
  const milliseconds = Number(match?.[1]) * (UNITS[match?.[2] ?? ''] ?? Number.NaN);
  if (!Number.isFinite(milliseconds)) {
    throw new UsageError(
      `${option}: expected a duration such as 500ms, 30s, 2m or 1h, got ${quoted(text)}`,
    );
  }
  return Math.round(milliseconds);
}

/** `850ms`, `12s`, `3m 20s`, `2h 5m`, `4d 1h`: two units at most. */
export function showDuration(milliseconds: number): string {
  const ms = Math.max(0, Math.round(milliseconds));
  if (ms < 1000) return `${ms}ms`;
  const seconds = Math.floor(ms / 1000);
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ${seconds % 60}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 1440) return `${Math.floor(minutes / 60)}h ${minutes % 60}m`;
  return `${Math.floor(minutes / 1440)}d ${Math.floor((minutes % 1440) / 60)}h`;
}
