/** Clients are recognized by their methods: the names of their classes differ between versions. */
export function hasMethods(target: object, ...names: string[]): boolean {
  return names.every((name) => typeof Reflect.get(target, name) === 'function');
}

/** Scripts reply with texts; a client may be set to give Buffers for them. */
export function withText(reply: unknown): unknown {
  return Buffer.isBuffer(reply) ? reply.toString() : reply;
}
