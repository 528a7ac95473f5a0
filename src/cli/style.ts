import { WriteStream } from 'node:tty';
import { printable } from './output.js';
import { fit, widthOf } from './text-width.js';

/** What a piece of a line means. Where there are no colors, `alarm` is bold and stays seen. */
export type Style = 'strong' | 'head' | 'faint' | 'good' | 'warning' | 'alarm' | 'chosen';

export interface Span {
  readonly text: string;
  readonly style?: Style;
}

/** One line, piece by piece. */
export type Line = readonly Span[];

const CONTROL = '\x1b[';
const IN_COLOR: Record<Style, string> = {
  strong: '1',
  head: '4',
  faint: '2',
  good: '32',
  warning: '33',
  alarm: '1;31',
  chosen: '7',
};
const WITHOUT: Record<Style, string> = { ...IN_COLOR, good: '', warning: '', alarm: '1' };

/** By NO_COLOR, FORCE_COLOR and TERM, as Node.js reads them; a pipe has colors only if forced. */
export function hasColors(isTerminal: boolean, env: NodeJS.ProcessEnv = process.env): boolean {
  if (!isTerminal && env['FORCE_COLOR'] === undefined) return false;
  return WriteStream.prototype.getColorDepth(env) > 1;
}

export function painted(line: Line, colors: boolean): string {
  const codes = colors ? IN_COLOR : WITHOUT;
  return line
    .map(({ text, style }) => {
      const code = style === undefined ? '' : codes[style];
      return code === '' || text === '' ? text : `${CONTROL}${code}m${text}${CONTROL}0m`;
    })
    .join('');
}

/** The texts alone, without space at the end. */
export function plainText(line: Line): string {
  return line
    .map(({ text }) => text)
    .join('')
    .trimEnd();
}

export function lineOf(text: string, style?: Style): Line {
  return [spanOf(text, style)];
}

export function spanOf(text: string, style?: Style): Span {
  return style === undefined ? { text } : { text, style };
}

/** The whole line in one style. */
export function restyled(line: Line, style: Style): Line {
  return lineOf(line.map(({ text }) => text).join(''), style);
}

export function widthOfLine(line: Line): number {
  return line.reduce((sum, { text }) => sum + widthOf(printable(text)), 0);
}

/** Without control characters, and in at most `columns` columns. */
export function fitLine(line: Line, columns: number): Line {
  const spans: Span[] = [];
  let left = columns;
  for (const span of line) {
    const text = fit(span.text, left);
    spans.push({ ...span, text });
    left -= widthOf(text);
    if (text !== printable(span.text)) break;
  }
  return spans;
}

/** `left` and, at the right edge, `right`, which is the one that is never cut. */
export function atBothEnds(left: Line, right: Line, columns: number): Line {
  const room = columns - widthOfLine(right);
  const kept = room < 3 ? [] : fitLine(left, room - 2);
  const gap = Math.max(0, room - widthOfLine(kept));
  return [...kept, { text: ' '.repeat(gap) }, ...right];
}

/** As many of the parts as fit, the first ones first. */
export function whatFits(parts: readonly string[], separator: string, columns: number): string {
  let text = '';
  for (const part of parts) {
    const longer = text === '' ? part : text + separator + part;
    if (text !== '' && widthOf(longer) > columns) break;
    text = longer;
  }
  return text;
}
