// Wraps comments at the width of the code, which prettier leaves to the author; with --check it
// only reports the lines. A paragraph is filled from its first long line on. Lists, tags and
// indented text keep their form. A comment behind code must be moved by hand.
import { writeFileSync } from 'node:fs';
import { commentLines, readTracked, ROOT, trackedFiles } from './prose.mjs';

const WIDTH = 100;
const DIRECTIVE = /oxlint-|eslint-|prettier-ignore|@ts-|c8 ignore|-- (?:include|room|on demand)/;
const ITEM = /^(?:[-*+]|\d+\.)(?:\s+|$)/;
/** The parts of the head of a Lua file. */
const LUA_PART = /^(?:KEYS|ARGV|Reply|Cost) +/;
const TAG = /^@[a-z]+\b/;
const WORD = /\s*(?:`[^`]+`|\{@[^}]+\}|\S)+/g;

const isCheck = process.argv.includes('--check');
const long = trackedFiles(/\.(ts|mjs|lua)$/).flatMap((file) => wrapFile(file));
if (long.length > 0) {
  const what = isCheck ? 'run npm run format' : 'wrap them by hand';
  console.error(`Comments longer than ${WIDTH} columns, ${what}:\n${long.join('\n')}`);
  process.exitCode = 1;
}

function wrapFile(file) {
  const text = readTracked(file);
  const before = text.split('\n');
  if (before.every((line) => line.length <= WIDTH)) return [];
  const after = isCheck ? before : wrapLines(before, commentLines(file, text));
  const wrapped = after.join('\n');
  if (wrapped !== text) writeFileSync(new URL(file, ROOT), wrapped);
  const comments = commentLines(file, wrapped);
  return after.flatMap((line, i) =>
    isLong(line) && comments.has(i) ? [`${file}:${i + 1}: ${line.trim()}`] : [],
  );
}

function isLong(line) {
  if (line.length <= WIDTH || DIRECTIVE.test(line)) return false;
  const parts = partsOf(line);
  return parts === undefined || wordsOf(parts.text).length > 1;
}

function wrapLines(lines, comments) {
  const queue = lines.flatMap((line, i) => {
    const whole = comments.get(i) === 'whole' && isLong(line);
    return (whole ? openBlock(line) : [line]).map((one) => ({ line: one, whole: comments.has(i) }));
  });
  const done = [];
  while (queue.length > 0) {
    const { line, whole } = queue.shift();
    const parts = whole && isLong(line) ? partsOf(line) : undefined;
    const [head, rest] = parts ? split(parts) : [line, ''];
    done.push(head);
    if (rest === '') continue;
    const next = partsOf(queue[0]?.line ?? '');
    const joins = queue[0]?.whole === true && next && continues(parts, next);
    if (joins) queue.shift();
    const text = joins ? `${rest} ${next.text}` : rest;
    queue.unshift({ line: parts.start + ' '.repeat(hangOf(parts, next, joins)) + text, whole });
  }
  return done;
}

/** A block that opens or ends beside its text gets lines for both. */
function openBlock(line) {
  const [, indent, text] = /^(\s*)\/\*\*? (.*)$/.exec(line) ?? [];
  const opened = text === undefined ? [line] : [`${indent}/**`, `${indent} * ${text}`];
  const last = opened.at(-1);
  if (!/^\s*\*.*\S \*\/$/.test(last)) return opened;
  return [...opened.slice(0, -1), last.slice(0, -3), `${/^\s*/.exec(last)[0]}*/`];
}

/** The comment sign with the space behind it, further indentation, and the text. */
function partsOf(line) {
  const found = /^(\s*(?:\/\/|\*(?!\/)|--) )(\s*)(\S.*)$/.exec(line);
  return found ? { start: found[1], indent: found[2].length, text: found[3] } : undefined;
}

function split({ start, indent, text }) {
  const words = wordsOf(text);
  let head = start + ' '.repeat(indent) + words.shift();
  while (words.length > 0 && head.length + words[0].length <= WIDTH) head += words.shift();
  return [head, words.join('').trimStart()];
}

/** No line may begin with what would make it an item or a tag. */
function wordsOf(text) {
  const words = [];
  for (const [word] of text.matchAll(WORD)) {
    const glued = words.length > 0 && (ITEM.test(word.trim()) || TAG.test(word.trim()));
    if (glued) words.push(words.pop() + word);
    else words.push(word);
  }
  return words;
}

/** Whether the next line is of the same paragraph. */
function continues(parts, next) {
  if (next.start !== parts.start || ITEM.test(next.text) || TAG.test(next.text)) return false;
  if (next.text.startsWith('```')) return false;
  if (parts.start.includes('--') && startsLuaPart(parts, next)) return false;
  const hang = itemHang(parts);
  if (hang !== undefined) return next.indent === parts.indent + hang;
  const isExample = parts.indent >= 4 && !parts.start.includes('--');
  return TAG.test(parts.text) || (next.indent === parts.indent && !isExample);
}

function startsLuaPart(parts, next) {
  if (LUA_PART.test(next.text) || /[:]$/.test(parts.text)) return true;
  if (next.indent > 0 && /^[a-z] /.test(next.text)) return true;
  return /[.;]$/.test(parts.text) && /^[A-Z]/.test(next.text);
}

function hangOf(parts, next, joins) {
  if (joins) return next.indent;
  return parts.indent + (itemHang(parts) ?? (TAG.test(parts.text) ? 2 : 0));
}

function itemHang({ start, text }) {
  const item = ITEM.exec(text) ?? (start.includes('--') ? LUA_PART.exec(text) : undefined);
  return item?.[0].length;
}
