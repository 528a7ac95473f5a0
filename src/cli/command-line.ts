import { createRequire } from 'node:module';
import { isRedsemError } from '../index.js';
import { Arguments } from './arguments.js';
import type { Command } from './command.js';
import { limitCommand } from './commands/limit.js';
import { listCommand } from './commands/list.js';
import { revokeCommand } from './commands/revoke.js';
import { runCommand } from './commands/run.js';
import { statusCommand } from './commands/status.js';
import { watchCommand } from './commands/watch.js';
import { COMMON_OPTIONS } from './common-options.js';
import { EXIT } from './exit-code.js';
import { Failure, UsageError } from './failure.js';
import { commandHelp, mainHelp } from './help.js';
import { complain, print } from './output.js';

const COMMANDS: readonly Command[] = [
  runCommand,
  statusCommand,
  listCommand,
  watchCommand,
  limitCommand,
  revokeCommand,
];

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
    return show(mainHelp(COMMANDS));
  }
  if (name === 'help') return show(commandHelp(find(topic)));
  const command = find(name);
  // Before all else is checked: with --help nothing else needs to be right.
  if (asksForHelp(argv)) return show(commandHelp(command));
  return command.run(parse(command, argv));
}

function parse(command: Command, argv: readonly string[]): Arguments {
  const options = { ...command.options, ...COMMON_OPTIONS };
  const args = new Arguments(argv, options, command.takesCommand === true);
  const [min, max] = command.arguments;
  const given = args.positionals.length;
  if (given >= min && given <= max) return args;
  throw new UsageError(`expected: redsem ${command.name} ${command.synopsis}`);
}

function asksForHelp(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  const own = end < 0 ? argv : argv.slice(0, end);
  return own.includes('--help') || own.includes('-h');
}

function find(name: string | undefined): Command {
  if (name === undefined) throw new UsageError('expected a command; redsem --help lists them');
  const command = COMMANDS.find((each) => each.name === name);
  if (command !== undefined) return command;
  throw new UsageError(`no command is called ${JSON.stringify(name)}; redsem --help lists them`);
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

function report(error: unknown): number {
  if (error instanceof Failure) {
    complain(error.message);
    return error.exitCode;
  }
  if (isRedsemError(error)) {
    complain(error.message);
    return EXIT.unavailable;
  }
  complain(error instanceof Error ? (error.stack ?? error.message) : String(error));
  return EXIT.internal;
}
