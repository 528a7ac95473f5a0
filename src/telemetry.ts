import { channel, type TracingChannel, tracingChannel } from 'node:diagnostics_channel';
import type * as messages from './telemetry-messages.js';

/** A diagnostics channel of Node.js, with the type of its messages. */
interface MessageChannel<Message> {
  /**
   * Whether the channel has subscribers. Ask before you make a message: without subscribers it then
   * costs nothing.
   */
  readonly hasSubscribers: boolean;
  publish(message: Message): void;
}

/** Without `traceSync`: an acquire gives a promise. */
type AcquireChannel = Omit<TracingChannel<string, messages.AcquireContext>, 'traceSync'>;

/** The channels of this package, see https://nodejs.org/api/diagnostics_channel.html. */
export const telemetry = {
  acquire: tracingChannel<string, messages.AcquireContext>('redsem:acquire') as AcquireChannel,
  wait: channel('redsem:wait') as MessageChannel<messages.WaitMessage>,
  queue: channel('redsem:queue') as MessageChannel<messages.QueueMessage>,
  grant: channel('redsem:grant') as MessageChannel<messages.GrantMessage>,
  extend: channel('redsem:extend') as MessageChannel<messages.ExtendMessage>,
  lost: channel('redsem:lost') as MessageChannel<messages.LostMessage>,
  release: channel('redsem:release') as MessageChannel<messages.ReleaseMessage>,
  drop: channel('redsem:drop') as MessageChannel<messages.DropMessage>,
  mismatch: channel('redsem:mismatch') as MessageChannel<messages.MismatchMessage>,
};
