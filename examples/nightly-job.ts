// Every replica starts a job, and one replica does it, also when their clocks differ by some
// seconds: the name has the date, and the replica that did the job keeps the permit until no
// replica can start that job.
import { createClient } from 'redis';
import { Semaphore } from 'redsem';

const LATEST_START = 5 * 60_000;

const client = await createClient({ url: process.env['REDIS_URL'] ?? 'redis://localhost' })
  .on('error', (error: Error) => console.error(error.message))
  .connect();

/**
 * Returns whether this replica did the job. A job that fails gives its permit back, so that another
 * replica may try.
 */
async function onceInTheCluster(name: string, job: () => Promise<void>): Promise<boolean> {
  // The permit is neither extended nor released: it expires when no replica starts this job any
  // more.
  const options = { limit: 1, ttl: LATEST_START, extendEvery: 0 };
  const handle = await new Semaphore(client, name, options).tryAcquire();
  if (handle === null) return false;
  try {
    await job();
    return true;
  } catch (error) {
    await handle.release();
    throw error;
  }
}

const [, , date = '2026-11-21', fails] = process.argv;
const report = async (): Promise<void> => {
  if (fails === 'fails') throw new Error('the report failed');
  console.log(`report of ${date}`);
};
try {
  const ours = await onceInTheCluster(`nightly-report:${date}`, report);
  if (!ours) console.log('another replica does it');
} catch (error) {
  console.log(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
client.destroy();
