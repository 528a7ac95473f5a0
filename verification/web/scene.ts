import { startWorker, type WorkerProcess } from '../../test/support/worker-process.js';

/** The semaphore of the scene that is worth a page. */
export const SCENE_NAME = 'partner-api';

const LABELS = ['api-7c9d:41', 'api-7c9d:42', 'render-eu:7', 'exporter-1:1203'] as const;

/** Four processes that use ten semaphores until they are killed. */
export async function playScene(url: string): Promise<readonly WorkerProcess[]> {
  const script = new URL('scene-worker.ts', import.meta.url);
  const workers = LABELS.map((label, nth) => startWorker(script, { url, label, nth }));
  await Promise.all(workers.map((worker) => worker.next('playing')));
  return workers;
}
