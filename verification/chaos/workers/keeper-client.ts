import { workerArguments } from '../../../test/support/worker-side.js';
import { connect } from '../topologies/connect.js';
import type { WorkerArguments } from './worker.js';

/** This file, for the thread of a worker's keeper. */
export const KEEPER_CLIENT: URL = new URL(import.meta.url);

/** The client of a worker's keeper: it takes the same way to the servers as the worker does. */
export default async function client(): Promise<unknown> {
  const { target } = await connect(workerArguments<WorkerArguments>().address);
  return target;
}
