/** The reply to a call that named one semaphore. */
export async function only<R>(replies: Promise<readonly R[]>): Promise<R> {
  const [reply] = await replies;
  if (reply === undefined) throw new Error('expected one reply, got none');
  return reply;
}
