import type { HandleData } from './handle.js';
import { parseTicketId } from './backends/ticket-id.js';
import { formatValue, quoted } from './arguments/shown.js';
import { typeError } from './arguments/validation.js';

/**
 * Checks what another process wrote.
 * @throws {TypeError} naming the field, what is expected and what it is
 */
export function checkHandleData(data: HandleData, name: string): HandleData {
  if (typeof data !== 'object' || data === null) {
    throw typeError(`ticket: expected the data of a handle, got ${formatValue(data)}`);
  }
  const { id, slots, fencingToken } = data;
  if (data.name !== name) throw wrong('name', `${quoted(name)}, this semaphore`, data.name);
  if (typeof id !== 'string' || parseTicketId(id) === undefined) {
    throw wrong('id', 'the id of a ticket', id);
  }
  if (!Array.isArray(slots) || slots.length === 0 || !slots.every(Number.isSafeInteger)) {
    throw wrong('slots', 'at least one slot number', slots);
  }
  if (!Number.isSafeInteger(fencingToken)) {
    throw wrong('fencingToken', 'a safe integer', fencingToken);
  }
  return data;
}

function wrong(field: string, expected: string, value: unknown): TypeError {
  return typeError(`ticket.${field}: expected ${expected}, got ${formatValue(value)}`);
}
