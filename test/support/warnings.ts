import { moment } from './moment.js';

/** Runs `body` with the warnings of the process so far, and gives all of them. */
export async function warningsDuring(
  body: (soFar: readonly Error[]) => Promise<void>,
): Promise<readonly Error[]> {
  const warnings: Error[] = [];
  const note = (warning: Error): void => void warnings.push(warning);
  process.on('warning', note);
  try {
    await body(warnings);
    await moment();
  } finally {
    process.off('warning', note);
  }
  return warnings;
}
