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

/** An option, as the help declares it. An ellipsis after its value: it may be given repeatedly. */
export interface Option {
  readonly name: string;
  readonly short?: string;
  readonly type: 'string' | 'boolean';
  readonly multiple: boolean;
  readonly help: string;
}

const OPTION = /^ {2}(?:-(.), | {4})--([\w-]+)( [^\s…]+)?(…?) +(.*(?:\n {8,}.*)*)/gm;

export function optionsOf(command: string): Option[] {
  return [...helpOf(command).matchAll(OPTION)].map(
    ([, short, name = '', value, more, text = '']) => ({
      name,
      type: value === undefined ? 'boolean' : 'string',
      multiple: more !== '',
      ...(short !== undefined && { short }),
      help: text.replace(/\s+/g, ' '),
    }),
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
