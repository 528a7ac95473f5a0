import { inspect } from 'node:util';

import type { Answer, Ask, Protocol, Topic } from './protocol.js';

/** Answers every question about `topic` from the process that started this one. */
export function answering<T extends Topic>(
  topic: T,
  answer: (ask: Protocol[T]['ask']) => Promise<Protocol[T]['answer']> | Protocol[T]['answer'],
): void {
  const reply = (message: Omit<Answer<T>, 'topic'>): void => {
    process.send?.({ topic, ...message });
  };
  process.on('message', (ask: Ask<T>) => {
    if (ask.topic !== topic) return;
    Promise.resolve()
      .then(() => answer(ask.data))
      .then(
        (data) => reply({ data }),
        (error: unknown) => reply({ problem: inspect(error) }),
      );
  });
}
