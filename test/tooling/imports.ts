import { dirname, posix } from 'node:path';

/** A file and what it imports: paths from src ending in `.ts`, packages as they are written. */
export type Import = readonly [from: string, to: string];

const IMPORT =
  /(?:^|[\s;])(?:import|export)\s(?:[^'";]*?\sfrom\s*)?['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]/g;

export function importsOf(from: string, source: string): Import[] {
  return [...source.matchAll(IMPORT)].map(([, fixed, dynamic]) => {
    const specifier = fixed ?? dynamic ?? '';
    if (!specifier.startsWith('.')) return [from, specifier];
    return [from, posix.join(dirname(from), specifier).replace(/\.js$/, '.ts')];
  });
}
