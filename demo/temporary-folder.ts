import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { atEnd } from './cleanup.js';

/** A folder that is removed when this process ends. */
export function makeTemporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'redsem-demo-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
