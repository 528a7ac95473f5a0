/** An error reply of the server, as it stood on the wire. */
export class RespError extends Error {
  override readonly name = 'RespError';
}

/** Reads one RESP2 reply that begins at `start`; undefined while bytes are missing. */
export function parseReply(
  bytes: Buffer,
  start = 0,
): { readonly value: unknown; readonly end: number } | undefined {
  const lineEnd = bytes.indexOf('\r\n', start);
  if (lineEnd === -1) return undefined;
  const kind = String.fromCharCode(bytes[start] ?? 0);
  const line = bytes.toString('utf8', start + 1, lineEnd);
  let end = lineEnd + 2;
  if (kind === '+') return { value: line, end };
  if (kind === '-') return { value: new RespError(line), end };
  if (kind === ':') return { value: Number(line), end };
  if (kind !== '$' && kind !== '*') throw new Error(`not a RESP2 reply: ${kind}${line}`);
  const length = Number(line);
  if (length === -1) return { value: null, end };
  if (kind === '$') {
    if (bytes.length < end + length + 2) return undefined;
    return { value: bytes.toString('utf8', end, end + length), end: end + length + 2 };
  }
  const values: unknown[] = [];
  while (values.length < length) {
    const element = parseReply(bytes, end);
    if (element === undefined) return undefined;
    values.push(element.value);
    end = element.end;
  }
  return { value: values, end };
}
