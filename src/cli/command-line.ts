import { createRequire } from 'node:module';
import { quoted } from '../arguments/shown.js';
import type { Options } from './arguments.js';
import { Arguments } from './arguments.js';
import type { Command } from './command.js';
import { COMMANDS } from './commands/all-commands.js';
import { COMMON_OPTIONS } from './common-options.js';
import { EXIT } from './exit-code.js';
import { UsageError } from './failure.js';
import { print } from './output.js';
import { report } from './report.js';

/** Runs the program and resolves with its exit code; never rejects. */
export async function runCommandLine(argv: readonly string[]): Promise<number> {
  try {
    return await dispatch(argv);
  } catch (error) {
    return report(error);
  }
}

async function dispatch([name, ...argv]: readonly string[]): Promise<number> {
  if (name === '--version' || name === '-V') return show(`${version()}\n`);
  const [topic] = argv;
  if (name === '--help' || name === '-h' || (name === 'help' && topic === undefined)) {
    return show(await wholeHelp());
  }
  if (name === 'help') return showHelp(await find(topic));
  if (name === undefined) {
    process.stderr.write(await wholeHelp());
    return EXIT.usage;
  }
  const command = await find(name);
  // Before all else is checked: with --help nothing else needs to be right.
  if (asksForHelp(argv)) return showHelp(command);
  return command.run(parse(command, argv), COMMANDS);
}

async function wholeHelp(): Promise<string> {
  const commands = await Promise.all([...COMMANDS.values()].map((load) => load()));
  return (await import('./help.js')).mainHelp(commands);
}

function parse(command: Command, argv: readonly string[]): Arguments {
  const options = { ...command.options, ...COMMON_OPTIONS };
  const args = argumentsOf(command, argv, options);
  const [min, max] = command.arguments;
  const given = args.positionals.length;
  if (given >= min && given <= max) return args;
  throw new UsageError(`expected: redsem ${command.name} ${command.synopsis}`);
}

function argumentsOf(command: Command, argv: readonly string[], options: Options): Arguments {
  try {
    return new Arguments(argv, options, command.takesCommand === true);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(`${error.message}; see redsem ${command.name} --help`);
  }
}

function asksForHelp(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  const own = end < 0 ? argv : argv.slice(0, end);
  return own.includes('--help') || own.includes('-h');
}

async function find(name = ''): Promise<Command> {
  const load = COMMANDS.get(name);
  if (load !== undefined) return load();
  const { nearest } = await import('./nearest.js');
  const meant = nearest(name, [...COMMANDS.keys()]);
  const hint = meant === undefined ? '' : ` (${meant}?)`;
  throw new UsageError(`no command is called ${quoted(name)}${hint}; redsem --help lists them`);
}

async function showHelp(command: Command): Promise<number> {
  return show((await import('./help.js')).commandHelp(command));
}

async function show(text: string): Promise<number> {
  await print(text);
  return EXIT.ok;
}

function version(): string {
  // Both src/cli and dist/cli stand two folders below it.
  const manifest: unknown = createRequire(import.meta.url)('../../package.json');
  return String(Reflect.get(Object(manifest), 'version'));
}
