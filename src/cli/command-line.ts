import { createRequire } from 'node:module';
import { nearest } from '../arguments/known-options.js';
import { quoted } from '../arguments/shown.js';
import { Arguments, type Command, splitAtDashes } from './arguments.js';
import { errorEntries, errorHelp } from './error-help.js';
import { EXIT, UsageError } from './failure.js';
import { helpOf } from './help.js';
import { print, report } from './output.js';

/** A command is loaded when it is needed: a process needs one, and shells start many. */
const COMMANDS = new Map<string, () => Promise<Command>>([
  ['run', async () => (await import('./commands/run.js')).run],
  ['status', async () => (await import('./commands/show.js')).status],
  ['list', async () => (await import('./commands/show.js')).list],
  ['watch', async () => (await import('./commands/watch.js')).watch],
  ['web', async () => (await import('./commands/web.js')).web],
  ['limit', async () => (await import('./commands/changes.js')).limit],
  ['rate', async () => (await import('./commands/changes.js')).rate],
  ['budget', async () => (await import('./commands/changes.js')).budget],
  ['revoke', async () => (await import('./commands/changes.js')).revoke],
  ['completion', async () => (await import('./commands/completion.js')).completion],
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
    if (isHelp) return print(helpOf());
    process.stderr.write(helpOf());
    return EXIT.usage;
  }
  const ofCode = word === 'help' ? helpOfCode(name) : undefined;
  if (ofCode !== undefined) return print(ofCode);
  const load = COMMANDS.get(name);
  if (load === undefined) {
    const message = `no command is called ${withHint(name, COMMANDS)}`;
    throw new UsageError(`${message}; redsem --help lists them`);
  }
  // Before the other arguments are checked: with --help they may be wrong.
  const [own] = splitAtDashes(argv);
  if (isHelp || own.includes('--help') || own.includes('-h')) return print(helpOf(name));
  const args = new Arguments(name, argv);
  return (await load())(args);
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
  const meant = nearest(word, [...known.keys()]);
  return meant === undefined ? quoted(word) : `${quoted(word)} (${meant}?)`;
}

function version(): string {
  // Both src/cli and dist/cli stand two folders below it.
  const manifest: unknown = createRequire(import.meta.url)('../../package.json');
  return String(Reflect.get(Object(manifest), 'version'));
}
