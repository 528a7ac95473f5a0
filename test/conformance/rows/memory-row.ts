import type { Backend } from '../../../src/index.js';
import { ManualClock, MemoryBackend } from '../../../src/index.js';
import type { Place, Row } from '../row.js';
import { tamperingBy } from '../tampering.js';

export function memoryRow(): Row {
  return { title: 'memory', open: () => Promise.resolve(placeOf(new MemoryBackend())) };
}

/** Time stands still there, so it is for the cases that let it pass themselves. */
export function manualClockRow(): Row {
  const clock = new ManualClock();
  return {
    title: 'memory with a manual clock',
    clock,
    open: () => Promise.resolve(placeOf(new MemoryBackend({ clock }))),
  };
}

function placeOf(backend: MemoryBackend): Place {
  return {
    target: backend,
    other: otherDoor(backend),
    tickets: tamperingBy(backend),
    close: () => Promise.resolve(),
  };
}

/** Another object, hence another client with waiters, coordinators and an inbox of its own. */
function otherDoor(backend: MemoryBackend): Backend {
  return {
    clock: backend.clock,
    acquire: (call) => backend.acquire(call),
    extend: (call) => backend.extend(call),
    release: (call) => backend.release(call),
    inspect: (call) => backend.inspect(call),
    setLimit: (call) => backend.setLimit(call),
    adopt: (call) => backend.adopt(call),
    revoke: (call) => backend.revoke(call),
    listen: (client, prefix, listener) => backend.listen(client, prefix, listener),
  };
}
