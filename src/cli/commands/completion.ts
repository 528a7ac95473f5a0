import { quoted } from '../../arguments/shown.js';
import { type Command, optionsIn } from '../arguments.js';
import { COMMON_OPTIONS } from '../server-options.js';
import { UsageError } from '../failure.js';
import { print } from '../output.js';

type Commands = ReadonlyMap<string, Command>;

const SHELLS: Readonly<Record<string, (commands: Commands) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};
const SHELL_NAMES = Object.keys(SHELLS).join(' ');

/** @param allCommands loads all commands */
export function completionOf(allCommands: () => Promise<Commands>): Command {
  return {
    synopsis: 'bash|zsh|fish',
    summary: 'print what completes commands and names in a shell',
    description: `
Prints a script that completes commands, options and the names of semaphores. Names come from "redsem list",
with the server that $REDIS_URL names.`,
    tables: {
      'Where it goes': [
        ['bash', 'in ~/.bashrc: source <(redsem completion bash)'],
        ['zsh', 'in ~/.zshrc, after compinit: source <(redsem completion zsh)'],
        ['fish', 'redsem completion fish > ~/.config/fish/completions/redsem.fish'],
      ],
    },
    options: {},
    examples: { 'redsem completion bash > ~/.redsem-completion': 'a file for ~/.bashrc to source' },
    arguments: [1, 1],
    run: async ({ positionals: [shell = ''] }) => {
      const script = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined;
      if (script !== undefined) return print(script(await allCommands()));
      throw new UsageError(`expected bash, zsh or fish, got ${quoted(shell)}`);
    },
  };
}

function namesOf(commands: Commands): string {
  return [...commands.keys()].join(' ');
}

/** The commands that take the name of a semaphore. */
function takingNames(commands: Commands): string[] {
  return [...commands]
    .filter(([, { synopsis }]) => /\bNAME\b/.test(synopsis))
    .map(([name]) => name);
}

/** A `case` of bash and zsh for each command, with all its options. */
function optionCases(commands: Commands, before: string, after: string): string {
  const cases = [...commands].map(([name, { options }]) => {
    const flags = optionsIn({ ...options, ...COMMON_OPTIONS }).map((option) => `--${option.name}`);
    return `${name}) ${before}${flags.join(' ')}${after} ;;`;
  });
  return cases.join('\n    ');
}

/** Compares and quotes names, because they may hold any text, which `compgen -W` would expand. */
function bashScript(commands: Commands): string {
  return `_redsem() {
  local cur=\${COMP_WORDS[COMP_CWORD]} command=\${COMP_WORDS[1]} words= name
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then words='${namesOf(commands)}'
  else case $command in
    ${optionCases(commands, "words='", "'")}
  esac; fi
  if [[ $command == completion ]]; then words='${SHELL_NAMES}'; fi
  if ((COMP_CWORD == 1)) || [[ $cur == -* || $command == completion ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    return
  fi
  case $command in ${takingNames(commands).join('|')}) ;; *) return ;; esac
  while IFS= read -r name; do
    if [[ $name == "$cur"* ]]; then COMPREPLY+=("$(printf %q "$name")"); fi
  done < <("\${COMP_WORDS[0]}" list 2>/dev/null)
}
complete -o default -F _redsem redsem
`;
}

function zshScript(commands: Commands): string {
  return `_redsem() {
  if ((CURRENT == 2)); then compadd -- ${namesOf(commands)}; return; fi
  if [[ $words[2] == completion ]]; then compadd -- ${SHELL_NAMES}; return; fi
  if [[ $PREFIX == -* ]]; then
    case $words[2] in
    ${optionCases(commands, 'compadd -- ', '')}
    esac
    return
  fi
  case $words[2] in
    ${takingNames(commands).join('|')}) compadd -- "\${(@f)$($words[1] list 2>/dev/null)}" ;;
  esac
}
compdef _redsem redsem
`;
}

function fishScript(commands: Commands): string {
  const lines = [...commands].flatMap(([command, { summary, options }]) => [
    fishLine('__fish_use_subcommand', `-a ${command} -d ${fishText(summary)}`),
    ...optionsIn({ ...options, ...COMMON_OPTIONS }).map(({ name, short, value, help }) => {
      const letter = short === undefined ? '' : ` -s ${short}`;
      const argument = value === undefined ? '' : ' -r';
      return fishLine(seen(command), `-l ${name}${letter}${argument} -d ${fishText(help)}`);
    }),
  ]);
  return [
    'complete -c redsem -f\n',
    ...lines,
    fishLine(seen(takingNames(commands).join(' ')), "-a '(redsem list 2>/dev/null)'"),
    fishLine(seen('completion'), `-a '${SHELL_NAMES}'`),
  ].join('');
}

function fishLine(condition: string, offer: string): string {
  return `complete -c redsem -n ${condition} ${offer}\n`;
}

function seen(commands: string): string {
  return fishText(`__fish_seen_subcommand_from ${commands}`);
}

function fishText(text: string): string {
  return `'${text.replaceAll(/['\\]/g, String.raw`\$&`)}'`;
}
