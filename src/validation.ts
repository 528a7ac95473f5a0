import { inspect } from 'node:util';

/** A refused value as an error message shows it, with its type. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return `${JSON.stringify(value)} (string)`;
  if (typeof value === 'object' && value !== null) {
    return Array.isArray(value) ? 'an array' : 'an object';
  }
  return value === null || value === undefined
    ? String(value)
    : `${inspect(value)} (${typeof value})`;
}
