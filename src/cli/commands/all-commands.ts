import type { Command } from '../command.js';

/** Each is loaded only when it is needed: most programs need one, and shells start many. */
export const COMMANDS: ReadonlyMap<string, () => Promise<Command>> = new Map([
  ['run', async () => (await import('./run.js')).runCommand],
  ['status', async () => (await import('./status.js')).statusCommand],
  ['list', async () => (await import('./list.js')).listCommand],
  ['watch', async () => (await import('./watch.js')).watchCommand],
  ['web', async () => (await import('./web.js')).webCommand],
  ['limit', async () => (await import('./limit.js')).limitCommand],
  ['rate', async () => (await import('./rate.js')).rateCommand],
  ['revoke', async () => (await import('./revoke.js')).revokeCommand],
]);
