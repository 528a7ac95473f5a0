/** Three significant digits, with commas between thousands: 0.0123, 4.56, 789, 12,345. */
export function numberText(value: number): string {
  if (!Number.isFinite(value)) return 'n/a';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString('en-US');
  const digits = Math.max(0, 2 - Math.floor(Math.log10(size)));
  return value
    .toFixed(Math.min(digits, 4))
    .replace(/(\.\d*?)0+$/, '$1')
    .replace(/\.$/, '');
}
