import { shown } from '../../arguments/shown.js';
import type { Options } from '../arguments.js';
import type { Command } from '../command.js';
import { COMMON_OPTIONS } from '../common-options.js';
import { EXIT } from '../exit-code.js';
import { UsageError } from '../failure.js';
import { print } from '../output.js';

const SHELLS = { bash: bashScript, zsh: zshScript, fish: fishScript };

export const completionCommand: Command = {
  name: 'completion',
  synopsis: 'bash|zsh|fish',
  summary: 'print what completes commands and names in a shell',
  description: `
Prints a script that completes commands, options and the names of semaphores. Names come from "redsem list",
with the server that $REDIS_URL names.`,
  tables: [
    {
      title: 'Where it goes',
      rows: [
        ['bash', 'in ~/.bashrc: source <(redsem completion bash)'],
        ['zsh', 'in ~/.zshrc, after compinit: source <(redsem completion zsh)'],
        ['fish', 'redsem completion fish > ~/.config/fish/completions/redsem.fish'],
      ],
    },
  ],
  options: {},
  examples: [['redsem completion bash > ~/.redsem-completion', 'a file for ~/.bashrc to source']],
  arguments: [1, 1],
  run: async ({ positionals: [shell = ''] }, all) => {
    const commands = await Promise.all([...all.values()].map((load) => load()));
    const script = Object.entries(SHELLS).find(([name]) => name === shell)?.[1];
    if (script === undefined) {
      throw new UsageError(`expected bash, zsh or fish, got ${JSON.stringify(shown(shell))}`);
    }
    await print(script(commands));
    return EXIT.ok;
  },
};

/** Those that take the name of a semaphore. */
function takesName({ synopsis }: Command): boolean {
  return /\bNAME\b/.test(synopsis);
}

function optionsOf({ options }: Command): Options {
  return { ...options, ...COMMON_OPTIONS };
}

function flagsOf(command: Command): string {
  return Object.keys(optionsOf(command))
    .map((name) => `--${name}`)
    .join(' ');
}

function namesOf(commands: readonly Command[]): string {
  return commands.map(({ name }) => name).join(' ');
}

/**
 * Names are anybody's text: they are compared and quoted, never expanded (as `compgen -W` does).
 */
function bashScript(commands: readonly Command[]): string {
  const withNames = commands.filter(takesName);
  return `_redsem() {
  local cur=\${COMP_WORDS[COMP_CWORD]} command=\${COMP_WORDS[1]} words= name
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then words='${namesOf(commands)}'
  else case $command in
${commands.map((each) => `    ${each.name}) words='${flagsOf(each)}' ;;`).join('\n')}
  esac; fi
  if [[ $command == completion ]]; then words='${Object.keys(SHELLS).join(' ')}'; fi
  if ((COMP_CWORD == 1)) || [[ $cur == -* || $command == completion ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    return
  fi
  case $command in ${withNames.map(({ name }) => name).join('|')}) ;; *) return ;; esac
  while IFS= read -r name; do
    if [[ $name == "$cur"* ]]; then COMPREPLY+=("$(printf %q "$name")"); fi
  done < <("\${COMP_WORDS[0]}" list 2>/dev/null)
}
complete -o default -F _redsem redsem
`;
}

function zshScript(commands: readonly Command[]): string {
  const withNames = commands.filter(takesName);
  return `_redsem() {
  if ((CURRENT == 2)); then compadd -- ${namesOf(commands)}; return; fi
  if [[ $words[2] == completion ]]; then compadd -- ${Object.keys(SHELLS).join(' ')}; return; fi
  if [[ $PREFIX == -* ]]; then
    case $words[2] in
${commands.map((each) => `      ${each.name}) compadd -- ${flagsOf(each)} ;;`).join('\n')}
    esac
    return
  fi
  case $words[2] in
    ${withNames.map(({ name }) => name).join('|')}) compadd -- "\${(@f)$($words[1] list 2>/dev/null)}" ;;
  esac
}
compdef _redsem redsem
`;
}

function seen(names: string): string {
  return `-n '__fish_seen_subcommand_from ${names}'`;
}

function quoted(text: string): string {
  return `'${text.replaceAll(/['\\]/g, String.raw`\$&`)}'`;
}

function fishScript(commands: readonly Command[]): string {
  const lines = commands.flatMap((command) => [
    `complete -c redsem -n __fish_use_subcommand -a ${command.name} -d ${quoted(command.summary)}`,
    ...Object.entries(optionsOf(command)).map(([name, { short, value, help }]) => {
      const letter = short === undefined ? '' : ` -s ${short}`;
      const argument = value === undefined ? '' : ' -r';
      return `complete -c redsem ${seen(command.name)} -l ${name}${letter}${argument} -d ${quoted(help)}`;
    }),
  ]);
  const withNames = namesOf(commands.filter(takesName));
  return `complete -c redsem -f
${lines.join('\n')}
complete -c redsem ${seen(withNames)} -a '(redsem list 2>/dev/null)'
complete -c redsem ${seen('completion')} -a '${Object.keys(SHELLS).join(' ')}'
`;
}
