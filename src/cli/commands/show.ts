import type { Arguments } from '../arguments.js';
import { withOperator } from '../operator.js';
import { jsonText, print, printable } from '../output.js';
import { overviewLines, summaryLines } from '../status-table.js';
import { hasColors, type Line, painted, plainText } from '../style.js';

export function status(args: Arguments): Promise<void> {
  const [name] = args.positionals;
  const columns = process.stdout.isTTY ? process.stdout.columns : Infinity;
  const json = args.flag('json');
  return withOperator(args, async (operator) => {
    if (name === undefined) {
      const all = await operator.inspectAll(await operator.names());
      return print(json ? jsonText(all) : text(overviewLines(all, columns)));
    }
    const summary = await operator.inspect(name);
    return print(json ? jsonText(summary) : text(summaryLines(summary, columns)));
  });
}

/** A pipe gets no escape sequences, unless colors are forced. */
function text(lines: readonly Line[]): string {
  const { isTTY } = process.stdout;
  const colors = hasColors(isTTY);
  const isPlain = !colors && (!isTTY || process.env['TERM'] === 'dumb');
  return lines.map((line) => `${isPlain ? plainText(line) : painted(line, colors)}\n`).join('');
}

export function list(args: Arguments): Promise<void> {
  return withOperator(args, async (operator) => {
    const names = await operator.names();
    if (args.flag('json')) return print(jsonText(names));
    const line = (name: string) => (args.flag('null') ? `${name}\0` : `${printable(name)}\n`);
    return print(names.map(line).join(''));
  });
}
