import { WriteStream } from 'node:tty';
import { printable } from './output.js';

/** The style of a piece of a line. Without colors, `alarm` is bold and stays visible. */
export type Style = 'strong' | 'head' | 'faint' | 'good' | 'warning' | 'alarm' | 'chosen';

export interface Span {
  readonly text: string;
  readonly style?: Style | undefined;
}

/** The pieces of a line. */
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
  const spans = line.map(({ text, style }) => {
    const code = style === undefined ? '' : codes[style];
    return code === '' || text === '' ? text : `${CONTROL}${code}m${text}${CONTROL}0m`;
  });
  return spans.join('');
}

/** The text without styles, and without spaces at the end. */
export function plainText(line: Line): string {
  return textOf(line).trimEnd();
}

export function lineOf(text: string, style?: Style): Line {
  return [{ text, style }];
}

/** The whole line in a single style. */
export function restyled(line: Line, style: Style): Line {
  return lineOf(textOf(line), style);
}

/** Without control characters, and in at most `columns` columns. */
export function fitLine(line: Line, columns: number): Line {
  const spans: Span[] = [];
  let left = columns;
  for (const { text, style } of line) {
    const shown = fit(text, left);
    spans.push({ text: shown, style });
    left -= widthOf(shown);
    if (shown !== printable(text)) break;
  }
  return spans;
}

/** `left` and, at the right edge, `right`, which is never cut. */
export function atBothEnds(left: Line, right: Line, columns: number): Line {
  const room = columns - widthOfLine(right);
  const kept = room < 3 ? [] : fitLine(left, room - 2);
  return [...padded(kept, room), ...right];
}

/** The line, filled with spaces up to this width. */
export function padded(line: Line, columns: number): Line {
  return [...line, { text: ' '.repeat(Math.max(0, columns - widthOfLine(line))) }];
}

/** The first pieces that fit side by side. */
export function whatFits(pieces: readonly string[], separator: string, columns: number): string {
  let text = '';
  for (const piece of pieces) {
    const longer = text === '' ? piece : text + separator + piece;
    if (text !== '' && widthOf(longer) > columns) break;
    text = longer;
  }
  return text;
}

function textOf(line: Line): string {
  return line.map(({ text }) => text).join('');
}

function widthOfLine(line: Line): number {
  return widthOf(printable(textOf(line)));
}

let segmenter: Intl.Segmenter | undefined;

/** Made when it is needed, because that takes time. */
function graphemes(): Intl.Segmenter {
  return (segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' }));
}

/**
 * Emoji, and the East Asian blocks that terminals show two columns wide (Unicode's EastAsianWidth W
 * and F).
 */
const WIDE =
  /\p{Emoji_Presentation}|\ufe0f|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u;

const PLAIN = /^[ -~]*$/;

/** The width of a text on a terminal. */
export function widthOf(text: string): number {
  // Most texts are plain, and this costs a hundredth.
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes().segment(text)) width += WIDE.test(segment) ? 2 : 1;
  return width;
}

/** The text without control characters and in at most `columns` columns. */
export function fit(text: string, columns: number): string {
  const safe = printable(text);
  if (widthOf(safe) <= columns) return safe;
  let [kept, width] = ['', 0];
  for (const { segment } of graphemes().segment(safe)) {
    width += WIDE.test(segment) ? 2 : 1;
    if (width > columns - 1) break;
    kept += segment;
  }
  return columns < 1 ? '' : `${kept}…`;
}
