import { readFileSync } from 'node:fs';

const PAGE = new URL('../../docs/reference/cli.md', import.meta.url);

/**
 * The reference of the command line, which declares the commands and their options. In the bundle
 * of the package, the text is in place of this file.
 */
export const commandLinePage: string = readFileSync(PAGE, 'utf8');
