import { readFileSync } from 'node:fs';

/** In the package, two folders above both src/cli and dist/cli. */
const ERRORS = 'docs/reference/errors.md';

/** The entries of the page by their headings, which are codes. */
export function errorEntries(): ReadonlyMap<string, string> {
  const text = readFileSync(new URL(`../../${ERRORS}`, import.meta.url), 'utf8');
  const [, ...parts] = text.split(/^#+ /m);
  const entries = parts.map((part): [string, string] => {
    const end = part.indexOf('\n');
    return [part.slice(0, end), part.slice(end).trim()];
  });
  return new Map(entries.filter(([title]) => /^[A-Z_]+$/.test(title)));
}

/** An entry as text for a terminal. */
export function errorHelp(code: string, entry: string): string {
  const blocks = entry.split(/\n\n|\n(?=- )/).map(withPaths);
  const lines = blocks.flatMap((block) =>
    block.startsWith('|') ? tableLines(block) : paragraphs(block),
  );
  return [code, ...lines, ''].join('\n').replace(/\n{3,}/g, '\n\n');
}

/** The first column, with the other columns as text beside it. */
function tableLines(block: string): string[] {
  const [head = [], , ...rows] = block.split('\n').map((line) =>
    line
      .slice(1, -1)
      .split(' | ')
      .map((cell) => cell.trim()),
  );
  const widest = Math.max(...rows.map(([first = '']) => first.length));
  const lines = rows.flatMap(([first = '', ...cells]) => {
    const texts = wrap(cells.join(' | '), WIDTH - widest - 4);
    return texts.map((text, i) => `  ${(i === 0 ? first : '').padEnd(widest)}  ${text}`);
  });
  return ['', `${head.join(' | ')}:`, ...lines, ''];
}

/** A link to another code becomes a command, any other link a path in the repository. */
function withPaths(text: string): string {
  return text.replaceAll('**', '').replace(/\[([^\]]*)\]\(([^)]*)\)/g, (_, shown, target) => {
    const [page = '', anchor = ''] = String(target).split('#');
    if (page === '') return `${shown} (redsem help ${anchor.toUpperCase()})`;
    const { pathname } = new URL(page, `file:///${ERRORS}`);
    return `${shown} (${pathname.slice(1)})`;
  });
}

const WIDTH = 80;

function paragraphs(text: string): string[] {
  const each = text.trim().split('\n\n');
  return each.flatMap((paragraph) => ['', ...wrap(paragraph.replaceAll('\n', ' '), WIDTH)]);
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line === undefined || line.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines;
}
