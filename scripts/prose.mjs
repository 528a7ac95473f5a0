// The prose of this repository: Markdown, and the comments and strings of the code.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

export const ROOT = new URL('../', import.meta.url);
const GENERATED = ['src/backends/redis/written-by-npm-run-lua.ts'];

const COMMENT_OR_STRING =
  /\/\/.*|\/\*[\s\S]*?\*\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g;

/** The tracked files whose names match, relative to the root. */
export function trackedFiles(pattern) {
  return execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' })
    .split('\n')
    .filter((file) => pattern.test(file) && !GENERATED.includes(file));
}

export function readTracked(file) {
  return readFileSync(new URL(file, ROOT), 'utf8');
}

/** The lines of a file, with blanks in place of all text that is not prose. */
export function proseLines(file, text) {
  return proseOf(file, text).split('\n');
}

function proseOf(file, text) {
  if (file.endsWith('.md')) return text.replace(/`[^`\n]+`/g, blank);
  if (file.endsWith('.lua')) return text.replace(/^(.*?)(--|$)/gm, (all) => blank(all));
  let prose = '';
  let end = 0;
  for (const match of text.matchAll(COMMENT_OR_STRING)) {
    prose += blank(text.slice(end, match.index)) + match[0].replace(/\$\{[^}]*\}/g, blank);
    end = match.index + match[0].length;
  }
  return prose + blank(text.slice(end));
}

/**
 * By the index of each line with a comment: `whole` if the line is only comment, else `behind`
 * code.
 */
export function commentLines(file, text) {
  const found = new Map();
  const lua = file.endsWith('.lua');
  for (const match of text.matchAll(lua ? /--.*/g : COMMENT_OR_STRING)) {
    if (!/^(\/[/*]|--)/.test(match[0])) continue;
    const line = text.slice(0, match.index).split('\n');
    const kind = line.at(-1).trim() === '' ? 'whole' : 'behind';
    const count = match[0].split('\n').length;
    for (let i = 0; i < count; i++) found.set(line.length - 1 + i, kind);
  }
  return found;
}

/** Keeps line breaks, so that line numbers stay the same. */
function blank(text) {
  return text.replace(/[^\n]/g, ' ');
}
