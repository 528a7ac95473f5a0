import type { Options } from './arguments.js';
import type { Command } from './command.js';
import { COMMON_OPTIONS } from './common-options.js';

const WIDTH = 80;

export function commandHelp(command: Command): string {
  const examples = command.examples.flatMap(([line, what]) => [`  ${line}`, `      ${what}`]);
  return [
    `Usage: redsem ${command.name} ${command.synopsis}`,
    '',
    ...paragraphs(command.description),
    '',
    ...optionLines('Options', command.options),
    ...optionLines('Server', COMMON_OPTIONS),
    'Examples:',
    ...examples,
    '',
  ].join('\n');
}

export function mainHelp(commands: readonly Command[]): string {
  const widest = Math.max(...commands.map(({ name }) => name.length));
  return [
    'Usage: redsem COMMAND [OPTION…] [NAME] …',
    '',
    'A distributed counting semaphore on Redis: at most N of these at once, across every machine.',
    '',
    'Commands:',
    ...commands.map(({ name, summary }) => `  ${name.padEnd(widest)}  ${summary}`),
    '',
    ...optionLines('Server', COMMON_OPTIONS),
    'redsem COMMAND --help shows more; redsem --version shows the version.',
    '',
    'Examples:',
    ...commands.flatMap(({ examples }) => examples.slice(0, 1).map(([line]) => `  ${line}`)),
    '',
  ].join('\n');
}

function optionLines(title: string, options: Options): string[] {
  const entries = Object.entries(options);
  if (entries.length === 0) return [];
  const rows = entries.map(([name, { short, value, help }]) => {
    const letter = short === undefined ? '    ' : `-${short}, `;
    return [`${letter}--${name}${value === undefined ? '' : ` ${value}`}`, help] as const;
  });
  const widest = Math.max(...rows.map(([flags]) => flags.length));
  const indent = ' '.repeat(widest + 4);
  const lines = rows.flatMap(([flags, help]) => {
    const [first = '', ...others] = wrap(help, WIDTH - widest - 4);
    return [`  ${flags.padEnd(widest)}  ${first}`, ...others.map((line) => indent + line)];
  });
  return [`${title}:`, ...lines, ''];
}

function paragraphs(text: string): string[] {
  const each = text.trim().split('\n\n');
  return each.flatMap((paragraph, i) => [
    ...(i > 0 ? [''] : []),
    ...wrap(paragraph.replaceAll('\n', ' '), WIDTH),
  ]);
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
