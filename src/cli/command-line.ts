import { createRequire } from 'node:module';
import { nearest } from '../arguments/known-options.js';
import { quoted } from '../arguments/shown.js';
import { Arguments, type Command, splitAtDashes } from './arguments.js';
import { COMMON_OPTIONS } from './server-options.js';
import { commandHelp, errorEntries, errorHelp, mainHelp } from './help.js';
import { EXIT, UsageError } from './failure.js';
import { print, report } from './output.js';

/** A command is loaded when it is needed: a process needs one, and shells start many. */
const COMMANDS = new Map<string, () => Promise<Command>>([
  ['run', async () => (await import('./commands/run.js')).runCommand],
  ['status', async () => (await import('./commands/show.js')).statusCommand],
  ['list', async () => (await import('./commands/show.js')).listCommand],
  ['watch', async () => (await import('./commands/watch.js')).watchCommand],
  ['web', async () => (await import('./commands/web.js')).webCommand],
  ['limit', async () => (await import('./commands/changes.js')).limitCommand],
  ['rate', async () => (await import('./commands/changes.js')).rateCommand],
  ['budget', async () => (await import('./commands/changes.js')).budgetCommand],
  ['revoke', async () => (await import('./commands/changes.js')).revokeCommand],
  ['completion', async () => (await import('./commands/completion.js')).completionOf(allCommands)],
]);

/** Runs the program and resolves with its exit code; never rejects. */
export async function runCommandLine(argv: readonly string[]): Promise<number> {
  try {
    return (await dispatch(argv)) ?? EXIT.ok;
  } catch (error) {
    return report(error);
  }
}

async function dispatch([word, ...argv]: readonly string[]): Promise<number | void> {
  if (word === '--version' || word === '-V') return print(`${version()}\n`);
  const isHelp = word === 'help' || word === '--help' || word === '-h';
  const name = word === 'help' ? argv[0] : word;
  if (name === undefined || (isHelp && word !== 'help')) {
    const help = mainHelp(await allCommands());
    if (isHelp) return print(help);
    process.stderr.write(help);
    return EXIT.usage;
  }
  const ofCode = word === 'help' ? helpOfCode(name) : undefined;
  if (ofCode !== undefined) return print(ofCode);
  const command = await find(name);
  // Before the other arguments are checked: with --help they may be wrong.
  if (isHelp || asksForHelp(argv)) return print(commandHelp(name, command));
  return command.run(parse(name, command, argv));
}

async function allCommands(): Promise<Map<string, Command>> {
  const all = [...COMMANDS].map(async ([name, load]) => [name, await load()] as const);
  return new Map(await Promise.all(all));
}

function parse(name: string, command: Command, argv: readonly string[]): Arguments {
  const { options, synopsis, takesCommand = false } = command;
  let args: Arguments;
  try {
    args = new Arguments(argv, { ...options, ...COMMON_OPTIONS }, takesCommand);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(`${error.message}; see redsem ${name} --help`);
  }
  const [min, max] = command.arguments;
  const given = args.positionals.length;
  if (given >= min && given <= max) return args;
  throw new UsageError(`expected: redsem ${name} ${synopsis}`);
}

function asksForHelp(argv: readonly string[]): boolean {
  const [own] = splitAtDashes(argv);
  return own.includes('--help') || own.includes('-h');
}

function find(name: string): Promise<Command> {
  const load = COMMANDS.get(name);
  if (load !== undefined) return load();
  const message = `no command is called ${withHint(name, COMMANDS)}`;
  throw new UsageError(`${message}; redsem --help lists them`);
}

/** The entry of an error or a warning in the reference; undefined if the word is no code. */
function helpOfCode(word: string): string | undefined {
  if (!/^[A-Z_]+$/.test(word)) return undefined;
  const entries = errorEntries();
  const entry = entries.get(word);
  if (entry !== undefined) return errorHelp(word, entry);
  const codes = [...entries.keys()].join(', ');
  throw new UsageError(`no error is called ${withHint(word, entries)}; the codes are ${codes}`);
}

/** The word in quotes, and the known word that the user probably meant. */
function withHint(word: string, known: ReadonlyMap<string, unknown>): string {
  const meant = nearest(word, new Set(known.keys()));
  return meant === undefined ? quoted(word) : `${quoted(word)} (${meant}?)`;
}

function version(): string {
  // Both src/cli and dist/cli stand two folders below it.
  const manifest: unknown = createRequire(import.meta.url)('../../package.json');
  return String(Reflect.get(Object(manifest), 'version'));
}
