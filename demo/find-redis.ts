import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Where the semaphore will live, and why. */
export type Choice =
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'program'; readonly path: string; readonly why: string }
  | { readonly kind: 'memory'; readonly why: string };

/** @throws when REDIS_SERVER names no program */
export function chooseBackend(environment: NodeJS.ProcessEnv): Choice {
  const url = environment['REDIS_URL'] ?? '';
  if (url !== '') return { kind: 'url', url };
  const folders = (environment['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const onPath = (name: string): string | undefined =>
    folders.map((folder) => join(folder, name)).find(isProgram);

  const chosen = environment['REDIS_SERVER'] ?? '';
  if (chosen !== '') {
    const path = /[/\\]/.test(chosen) ? chosen : onPath(chosen);
    if (path !== undefined && isProgram(path))
      return { kind: 'program', path, why: 'REDIS_SERVER' };
    throw new Error(`REDIS_SERVER names no program that can run: ${chosen}`);
  }
  for (const name of ['redis-server', 'valkey-server']) {
    const path = onPath(name);
    if (path !== undefined) return { kind: 'program', path, why: 'found on PATH' };
  }
  return { kind: 'memory', why: 'no REDIS_URL, no redis-server on PATH' };
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
