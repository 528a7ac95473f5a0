import { workerArguments } from '../../../test/support/worker-side.js';
import { connect } from '../topologies/connect.js';
import type { Workload } from './workload.js';

/** The client of a worker's keeper: it takes the same way to the servers as the worker does. */
export default async function client(): Promise<unknown> {
  const { target } = await connect(workerArguments<Workload>().address);
  return target;
}
