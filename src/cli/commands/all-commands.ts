import type { Command, Commands } from '../command.js';

export const COMMANDS: Commands = new Map<string, () => Promise<Command>>([
  ['run', async () => (await import('./run.js')).runCommand],
  ['status', async () => (await import('./status.js')).statusCommand],
  ['list', async () => (await import('./list.js')).listCommand],
  ['watch', async () => (await import('./watch.js')).watchCommand],
  ['web', async () => (await import('./web.js')).webCommand],
  ['limit', async () => (await import('./limit.js')).limitCommand],
  ['revoke', async () => (await import('./revoke.js')).revokeCommand],
  ['completion', async () => (await import('./completion.js')).completionCommand],
]);
