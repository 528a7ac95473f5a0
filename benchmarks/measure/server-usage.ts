import type { TestServer } from '../../test/support/redis-server.js';
import type { Peer } from '../peers/catalog.js';
import { machineTime } from '../../verification/history/machine-time.js';

interface CommandUsage {
  readonly calls: number;
  readonly usec: number;
}

/** The counters of a server since its start. */
export interface ServerUsage {
  readonly at: number;
  readonly cpuMs: number;
  readonly commands: ReadonlyMap<string, CommandUsage>;
}

export async function readUsage(server: TestServer): Promise<ServerUsage> {
  const before = machineTime();
  const info = String(await server.command('INFO', 'everything'));
  const at = (before + machineTime()) / 2;
  const commands = new Map<string, CommandUsage>();
  for (const match of info.matchAll(/^cmdstat_([^:]+):calls=(\d+),usec=(\d+)/gm)) {
    const [, name = '', calls, usec] = match;
    commands.set(name, { calls: Number(calls), usec: Number(usec) });
  }
  return {
    at,
    cpuMs: (field(info, 'used_cpu_user') + field(info, 'used_cpu_sys')) * 1000,
    commands,
  };
}

const scriptCalls = ['evalsha', 'eval'];

/**
 * `calls`: commands that clients sent, a script call counts as one; `usec`: microseconds that the
 * server spent in them. Reads INFO commandstats and not `total_commands_processed`, which also
 * counts commands inside of scripts. The time of a script includes the time of the commands in it.
 */
export function usageBetween(before: ServerUsage, after: ServerUsage, peer: Peer) {
  const names = [...scriptCalls, ...peer.plainCommands];
  const sum = (usage: ServerUsage, key: keyof CommandUsage): number =>
    names.reduce((total, name) => total + (usage.commands.get(name)?.[key] ?? 0), 0);
  return {
    elapsedMs: after.at - before.at,
    cpuMs: after.cpuMs - before.cpuMs,
    calls: sum(after, 'calls') - sum(before, 'calls'),
    usec: sum(after, 'usec') - sum(before, 'usec'),
  };
}

function field(info: string, name: string): number {
  return Number(new RegExp(`^${name}:(.*)$`, 'm').exec(info)?.[1] ?? NaN);
}
