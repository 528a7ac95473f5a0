// Empties the build folder, so that a file deleted from src cannot stay in the package.
import { rmSync } from 'node:fs';

rmSync(new URL('../dist', import.meta.url), { recursive: true, force: true });
