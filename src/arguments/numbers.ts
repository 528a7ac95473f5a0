import { checkType, rangeError } from './validation.js';

export function integer(
  option: string,
  value: unknown,
  min: number,
  max: number = Number.MAX_SAFE_INTEGER,
): number {
  // The text of an error is made only for a wrong value, because every `acquire` comes here.
  const fits = typeof value === 'number' && value >= min && value <= max;
  if (fits && Number.isInteger(value)) return value;
  const range = max === Number.MAX_SAFE_INTEGER ? `>= ${min}` : `from ${min} to ${max}`;
  checkType(typeof value === 'number', option, 'a number', value);
  throw rangeError(`${option}: expected an integer ${range}, got ${value}`);
}

export function milliseconds(option: string, value: unknown, min: number, max: number): number {
  return number(option, value, min, max, `${min} to ${max} ms (30 s is 30_000)`);
}

export function number(
  option: string,
  value: unknown,
  min: number,
  max: number,
  expected = `${min} to ${max}`,
): number {
  checkType(typeof value === 'number', option, 'a number', value);
  if (value >= min && value <= max) return value;
  throw rangeError(`${option}: expected ${expected}, got ${value}`);
}
