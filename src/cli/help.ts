import { readFileSync } from 'node:fs';
import { type Command, type HelpRow, type Options, optionsIn } from './arguments.js';
import { COMMON_OPTIONS } from './server-options.js';

const WIDTH = 80;

const EXIT_CODES: readonly HelpRow[] = [
  ['0', 'all went well; "run": the exit code of its command'],
  ['64', 'wrong usage'],
  ['69', 'the server cannot be reached, or refuses'],
  ['70, 74', 'an internal error; output cannot be written'],
  ['1, 75, 79', 'see redsem revoke --help and redsem run --help'],
];

export function commandHelp(name: string, command: Command): string {
  const { synopsis, description, tables = {}, options, examples } = command;
  return [
    `Usage: redsem ${name} ${synopsis}`,
    ...paragraphs(description),
    '',
    ...Object.entries(tables).flatMap(([title, rows]) => tableLines(title, rows)),
    ...optionLines('Options', options),
    ...optionLines('Server', COMMON_OPTIONS),
    'Examples:',
    ...Object.entries(examples).flatMap(([line, what]) => [`  ${line}`, `      ${what}`]),
    '',
  ].join('\n');
}

export function mainHelp(commands: ReadonlyMap<string, Command>): string {
  const examples = [...commands.values()].map((each) => Object.keys(each.examples)[0] ?? '');
  return [
    'Usage: redsem COMMAND [OPTION…] [NAME] …',
    '',
    'A distributed counting semaphore on Redis: at most N of these at once, across every machine.',
    '',
    ...tableLines(
      'Commands',
      [...commands].map(([name, { summary }]) => [name, summary]),
    ),
    ...optionLines('Server', COMMON_OPTIONS),
    ...tableLines('Exit codes', EXIT_CODES),
    'redsem COMMAND --help shows more; redsem help CODE explains an error or a warning;',
    'redsem --version shows the version.',
    '',
    'Examples:',
    ...examples.map((line) => `  ${line}`),
    '',
  ].join('\n');
}

function optionLines(title: string, options: Options): string[] {
  const rows = optionsIn(options).map(({ name, short, value, help }): HelpRow => {
    const letter = short === undefined ? '    ' : `-${short}, `;
    return [`${letter}--${name}${value === undefined ? '' : ` ${value}`}`, help];
  });
  return rows.length === 0 ? [] : tableLines(title, rows);
}

export function tableLines(title: string, rows: readonly HelpRow[]): string[] {
  const widest = Math.max(...rows.map(([head]) => head.length));
  const indent = ' '.repeat(widest + 4);
  const lines = rows.flatMap(([head, text]) => {
    const [first = '', ...others] = wrap(text, WIDTH - widest - 4);
    return [`  ${head.padEnd(widest)}  ${first}`, ...others.map((line) => indent + line)];
  });
  return [`${title}:`, ...lines, ''];
}

export function paragraphs(text: string): string[] {
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

/** In the package, two folders above both src/cli and dist/cli. */
const PAGE = 'docs/reference/errors.md';

/** The entries of the page by their headings, which are codes. */
export function errorEntries(): ReadonlyMap<string, string> {
  const text = readFileSync(new URL(`../../${PAGE}`, import.meta.url), 'utf8');
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
    const { pathname } = new URL(page, `file:///${PAGE}`);
    return `${shown} (${pathname.slice(1)})`;
  });
}
