import type { Backend } from '../../src/backend.js';
import type { TicketTampering } from './row.js';

/** By the backend's own calls, which works whatever its data look like. With a limit of 0 nobody is granted what this frees. */
export function tamperingBy(backend: Backend): TicketTampering {
  const call = { limit: 0, client: 'tampering' };
  return {
    remove: async (key, id) => void (await backend.release({ ...call, key, ids: [id] })),
    age: async (key, id, left) =>
      void (await backend.extend({ ...call, key, ttl: left, ids: [id] })),
  };
}
