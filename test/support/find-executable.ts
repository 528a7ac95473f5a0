import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The full path of a program on PATH, or undefined. */
export function findExecutable(name: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
