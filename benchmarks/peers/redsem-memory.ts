import { MemoryBackend } from '../../src/index.js';
import type { Connection } from './adapter.js';
import { redsemConnection } from './redsem.js';

export async function connect(): Promise<Connection> {
  return redsemConnection(new MemoryBackend(), () => {});
}
