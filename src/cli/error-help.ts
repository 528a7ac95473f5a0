import { readFileSync } from 'node:fs';
import { paragraphs, tableLines } from './help.js';

/** A part of the package; both src/cli and dist/cli are two folders below it. */
const PAGE = 'docs/reference/errors.md';

/** The entries of the page, by the codes that are their headings. */
export function errorEntries(): ReadonlyMap<string, string> {
  const text = readFileSync(new URL(`../../${PAGE}`, import.meta.url), 'utf8');
  const [, ...parts] = text.split(/^#+ /m);
  const entries = parts.map((part): [string, string] => {
    const end = part.indexOf('\n');
    return [part.slice(0, end), part.slice(end).trim()];
  });
  return new Map(entries.filter(([title]) => /^[A-Z_]+$/.test(title)));
}

/** An entry as a terminal shows it. */
export function errorHelp(code: string, entry: string): string {
  const blocks = entry.split(/\n\n|\n(?=- )/).map(withPaths);
  const lines = blocks.flatMap((block) =>
    block.startsWith('|') ? ['', ...tableOf(block)] : paragraphs(block),
  );
  return [code, ...lines, ''].join('\n').replace(/\n{3,}/g, '\n\n');
}

/** A first column, and the others as text beside it. */
function tableOf(block: string): string[] {
  const rows = block.split('\n').map((line) => line.slice(1, -1).split(/ \| /));
  const [head = [], , ...others] = rows.map((cells) => cells.map((cell) => cell.trim()));
  return tableLines(
    head.join(' | '),
    others.map(([first = '', ...cells]) => [first, cells.join(' | ')]),
  );
}

/** A link to another code is a command; all others show their page as a path in the repository. */
function withPaths(text: string): string {
  return text.replaceAll('**', '').replace(/\[([^\]]*)\]\(([^)]*)\)/g, (_, shown, target) => {
    const [page = '', anchor = ''] = String(target).split('#');
    if (page === '') return `${shown} (redsem help ${anchor.toUpperCase()})`;
    const { pathname } = new URL(page, `file:///${PAGE}`);
    return `${shown} (${pathname.slice(1)})`;
  });
}
