import { moment } from './moment.js';

/** Runs `body`, and gives the warnings of the process meanwhile. */
export async function warningsDuring(body: () => Promise<void>): Promise<readonly Error[]> {
  const warnings: Error[] = [];
  const note = (warning: Error): void => void warnings.push(warning);
  process.on('warning', note);
  try {
    await body();
    await moment();
  } finally {
    process.off('warning', note);
  }
  return warnings;
}
