/** One server-sent event. */
export interface StreamEvent {
  readonly type: string;
  readonly data: string;
}

/**
 * Reads server-sent events from the body of a response: `EventSource` cannot send a token.
 * @param heard called for each piece that arrives, a comment that keeps the stream open included
 */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  heard: () => void,
): AsyncGenerator<StreamEvent, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let unread = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      heard();
      unread += decoder.decode(value, { stream: true }).replaceAll('\r', '');
      const blocks = unread.split('\n\n');
      unread = blocks.pop() ?? '';
      for (const block of blocks) yield parseBlock(block);
    }
  } finally {
    reader.releaseLock();
  }
}

function parseBlock(block: string): StreamEvent {
  let type = 'message';
  const data: string[] = [];
  for (const line of block.split('\n')) {
    const [, field, value = ''] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (field === 'event') type = value;
    if (field === 'data') data.push(value);
  }
  return { type, data: data.join('\n') };
}
