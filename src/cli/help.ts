import { readFileSync } from 'node:fs';
import { commandLinePage } from './page.js';

/** The help of each command by its name, and the options of all commands. */
const HELPS = new Map(
  [...commandLinePage.matchAll(/^```text\n((?:Usage: redsem )?(\w+)[^]*?)^```$/gm)].map(
    ([, text = '', name = '']) => [name, text],
  ),
);

/** The help of a command, or of the program, which also declares the arguments and the options. */
export function helpOf(command = 'COMMAND'): string {
  const [server = '', help = ''] = ['Server', command].map((name) => HELPS.get(name));
  return help.replace(/^(?:Exit codes|Examples):$/m, (next) => `${server}\n${next}`);
}

/** The arguments of a command, as the first line of its help shows them. */
export function synopsisOf(command: string): string {
  return /^Usage: redsem \w+ (.*)/.exec(helpOf(command))?.[1] ?? '';
}

/** An option of a command: `-u, --url URL…` in the help. */
export interface Option {
  readonly name: string;
  readonly short: string | undefined;
  /** The placeholder for the value; undefined: the option takes no value. */
  readonly value: string | undefined;
  /** Whether it may be given several times: an ellipsis in the help. */
  readonly multiple: boolean;
  readonly help: string;
}

const OPTION = /^ {2}(?:-(.), | {4})--([\w-]+)(?: ([^\s…]+)(…?))? +(.*(?:\n {8,}.*)*)/gm;

export function optionsOf(command: string): Option[] {
  return [...helpOf(command).matchAll(OPTION)].map(
    ([, short, name = '', value, more, help = '']) => {
      return { name, short, value, multiple: more === '…', help: help.replace(/\s+/g, ' ') };
    },
  );
}

/** The rows of a table in the help, by the start of its title. */
export function helpRows(title: string, command?: string): [head: string, text: string][] {
  const table = new RegExp(`^${title}.*:\n(?: .*\n)+`, 'm').exec(helpOf(command))?.[0] ?? '';
  return [...table.matchAll(/^ {2}(.+?) {2,}(.*)/gm)].map(([, head = '', text = '']) => [
    head,
    text,
  ]);
}

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
    block.startsWith('|') ? ['', ...tableOf(block)] : paragraphs(block),
  );
  return [code, ...lines, ''].join('\n').replace(/\n{3,}/g, '\n\n');
}

/** The first column, with the other columns as text beside it. */
function tableOf(block: string): string[] {
  const rows = block.split('\n').map((line) => line.slice(1, -1).split(/ \| /));
  const [head = [], , ...others] = rows.map((cells) => cells.map((cell) => cell.trim()));
  return tableLines(
    head.join(' | '),
    others.map(([first = '', ...cells]) => [first, cells.join(' | ')]),
  );
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

type Row = readonly [head: string, text: string];

function tableLines(title: string, rows: readonly Row[]): string[] {
  const widest = Math.max(...rows.map(([head]) => head.length));
  const indent = ' '.repeat(widest + 4);
  const lines = rows.flatMap(([head, text]) => {
    const [first = '', ...others] = wrap(text, WIDTH - widest - 4);
    return [`  ${head.padEnd(widest)}  ${first}`, ...others.map((line) => indent + line)];
  });
  return [`${title}:`, ...lines, ''];
}

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
