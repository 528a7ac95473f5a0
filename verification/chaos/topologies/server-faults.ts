import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import type { TestServer } from '../../../test/support/redis-server.js';
import type { FaultKind } from '../../history/fault-effects.js';
import type { PlannedFault, Undo } from '../nemesis/plan.js';

/** The semaphore of every run. */
export const NAME = 'chaos';

type Injector = (server: TestServer, fault: PlannedFault) => Promise<Undo | undefined>;

/**
 * Arguments of a server that keeps each confirmed write when it is killed: it writes to the file
 * before it replies, and the kernel outlives the process, so that no write waits for the disk.
 */
export const keepingData = ['--appendonly', 'yes', '--appendfsync', 'no'];

/** Faults that need one server alone. */
export const serverFaults: Partial<Record<FaultKind, Injector>> = {
  'stop-server': (server) => {
    server.pause();
    return Promise.resolve(() => Promise.resolve(server.resume()));
  },
  'restart-with-data': async (server) => {
    await server.kill();
    return () => server.restart();
  },
  'restart-empty': async (server) => {
    await server.kill();
    await rm(join(server.directory, 'appendonlydir'), { recursive: true, force: true });
    return () => server.restart();
  },
  'pause-clients': async (server, { lasts }) => {
    await server.command('CLIENT', 'PAUSE', String(lasts), 'ALL');
    await sleep(lasts);
    return undefined;
  },
  'kill-clients': async (server) => {
    await server.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await server.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    return undefined;
  },
  'forget-scripts': strike(() => ['SCRIPT', 'FLUSH']),
  'flush-data': strike(() => ['FLUSHALL']),
  'delete-key': strike(({ key }) => ['DEL', `redsem:{${NAME}}:${key}`]),
  'step-clock': async (server, { step = 0 }) => {
    await server.shiftClock(step);
    return undefined;
  },
};

function strike(command: (fault: PlannedFault) => string[]): Injector {
  return async (server, fault) => {
    await server.command(...command(fault));
    return undefined;
  };
}
