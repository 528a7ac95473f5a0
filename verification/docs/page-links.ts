import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from '../../test/tooling/run-program.js';
import type { Page } from './markdown-samples.js';

/** Its left column names files that are gone; test/tooling checks the others. */
const LISTS_OLD_FILES = 'docs/evidence/where-each-promise-is-proven.md';
const NAMED_FILE = /`((?:test|verification|src|examples|benchmarks)\/[\w./-]+\w)`/g;

/** Links and named files of a page that lead nowhere, and links to headings that are not there. */
export function deadLinks({ path, text }: Page): string[] {
  if (path === LISTS_OLD_FILES) return [];
  const prose = text.replaceAll(/^```.*?^```$/gms, '');
  const links = [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
  const relative = links.filter((link) => !/^[a-z]+:/.test(link));
  const dead = relative.filter((link) => !leadsSomewhere(path, link));
  const named = [...prose.matchAll(NAMED_FILE)].map(([, name = '']) => name);
  const missing = named.filter((name) => !existsSync(join(ROOT, name)));
  return [...dead, ...missing].map((each) => `${path}: ${each}`);
}

function leadsSomewhere(from: string, link: string): boolean {
  const [file = '', anchor] = link.split('#');
  const path = join(ROOT, file === '' ? from : join(dirname(from), file));
  if (!existsSync(path)) return false;
  return anchor === undefined || anchorsOf(readFileSync(path, 'utf8')).has(anchor);
}

/** The anchors that GitHub gives to headings. */
export function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  const prose = text.replaceAll(/^```.*?^```$/gms, '');
  for (const [, heading = ''] of prose.matchAll(/^#+ (.+)$/gm)) {
    const words = heading.toLowerCase().replaceAll(/[^\p{L}\p{N}\s_-]/gu, '');
    const anchor = words.trim().replaceAll(' ', '-');
    const same = [...anchors].filter((each) => each.replace(/-\d+$/, '') === anchor).length;
    anchors.add(same === 0 ? anchor : `${anchor}-${same}`);
  }
  return anchors;
}
