import type { SemaphoreKey } from '../backends/backend.js';
import { telemetry } from '../telemetry.js';
import type { AcquireRequest } from './acquire-request.js';

/** Call these only where the channel is active. */
export function publishWait({ name }: SemaphoreKey, { id, permits }: AcquireRequest): void {
  telemetry.wait.publish({ name, id, permits });
}

export function publishQueue({ name }: SemaphoreKey, waiting: number): void {
  telemetry.queue.publish({ name, waiting });
}
