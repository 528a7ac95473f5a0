import { quoted } from '../../arguments/shown.js';
import type { Arguments } from '../arguments.js';
import { UsageError } from '../failure.js';
import { helpRows, optionsOf, synopsisOf } from '../help.js';
import { print } from '../output.js';

const SHELLS: Readonly<Record<string, () => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};
const SHELL_NAMES = Object.keys(SHELLS).join(' ');

const SUMMARIES = helpRows('Commands');
const COMMANDS = SUMMARIES.map(([command]) => command);
const TAKING_NAMES = COMMANDS.filter((command) => /\bNAME\b/.test(synopsisOf(command)));

export async function completion({ positionals: [shell = ''] }: Arguments): Promise<void> {
  const script = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined;
  if (script !== undefined) return print(script());
  throw new UsageError(`expected bash, zsh or fish, got ${quoted(shell)}`);
}

/** A `case` of bash and zsh for each command, with all its options. */
function optionCases(before: string, after: string): string {
  const cases = COMMANDS.map((command) => {
    const flags = optionsOf(command).map(({ name }) => `--${name}`);
    return `${command}) ${before}${flags.join(' ')}${after} ;;`;
  });
  return cases.join('\n    ');
}

/** Compares and quotes names, because they may hold any text, which `compgen -W` would expand. */
function bashScript(): string {
  return `_redsem() {
  local cur=\${COMP_WORDS[COMP_CWORD]} command=\${COMP_WORDS[1]} words= name
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then words='${COMMANDS.join(' ')}'
  else case $command in
    ${optionCases("words='", "'")}
  esac; fi
  if [[ $command == completion ]]; then words='${SHELL_NAMES}'; fi
  if ((COMP_CWORD == 1)) || [[ $cur == -* || $command == completion ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    return
  fi
  case $command in ${TAKING_NAMES.join('|')}) ;; *) return ;; esac
  while IFS= read -r name; do
    if [[ $name == "$cur"* ]]; then COMPREPLY+=("$(printf %q "$name")"); fi
  done < <("\${COMP_WORDS[0]}" list 2>/dev/null)
}
complete -o default -F _redsem redsem
`;
}

function zshScript(): string {
  return `_redsem() {
  if ((CURRENT == 2)); then compadd -- ${COMMANDS.join(' ')}; return; fi
  if [[ $words[2] == completion ]]; then compadd -- ${SHELL_NAMES}; return; fi
  if [[ $PREFIX == -* ]]; then
    case $words[2] in
    ${optionCases('compadd -- ', '')}
    esac
    return
  fi
  case $words[2] in
    ${TAKING_NAMES.join('|')}) compadd -- "\${(@f)$($words[1] list 2>/dev/null)}" ;;
  esac
}
compdef _redsem redsem
`;
}

function fishScript(): string {
  const lines = SUMMARIES.flatMap(([command, summary]) => [
    fishLine('__fish_use_subcommand', `-a ${command} -d ${fishText(summary)}`),
    ...optionsOf(command).map(({ name, short, type, help }) => {
      const letter = short === undefined ? '' : ` -s ${short}`;
      const argument = type === 'boolean' ? '' : ' -r';
      return fishLine(seen(command), `-l ${name}${letter}${argument} -d ${fishText(help)}`);
    }),
  ]);
  return [
    'complete -c redsem -f\n',
    ...lines,
    fishLine(seen(TAKING_NAMES.join(' ')), "-a '(redsem list 2>/dev/null)'"),
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
