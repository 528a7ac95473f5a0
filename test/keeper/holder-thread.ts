// A thread that holds a permit, and has a keeper.
import { parentPort, workerData } from 'node:worker_threads';
import { Redis } from 'ioredis';

import { Semaphore } from '../../src/index.js';
import { Keeper } from '../../src/keeper/index.js';
import { eventually } from '../support/eventually.js';
import './built-worker.js';
import { isKept } from './is-kept.js';

export interface HolderThread {
  readonly port: number;
  readonly name: string;
}

const { port, name } = workerData as HolderThread;
const keeper = new Keeper({ ioredis: { port } });
const options = { limit: 1, ttl: 1000, extendEvery: 50, keeper };
const handle = await new Semaphore(new Redis({ port }), name, options).acquire();
await eventually(() => isKept(handle));
parentPort?.postMessage('held');
