/** Clients are recognized by their methods: the names of their classes differ between versions. */
export function hasMethods(target: object, ...names: string[]): boolean {
  return names.every((name) => typeof Reflect.get(target, name) === 'function');
}
