import type { TestServer } from './redis-server.js';
import { eventually } from './eventually.js';

/** For a user without the right to subscribe. */
export async function muteUrl(server: TestServer): Promise<string> {
  const rights = ['~*', '&*', '+@all', '-subscribe'];
  await server.command('ACL', 'SETUSER', 'mute', 'on', '>word', ...rights);
  return `redis://mute:word@127.0.0.1:${server.port}`;
}

/** Cuts off all that listen to pushes; gives how many there were. */
export async function cutSubscribers(server: TestServer): Promise<number> {
  return Number(await server.command('CLIENT', 'KILL', 'TYPE', 'pubsub'));
}

export async function untilSubscribed(server: TestServer, count: number): Promise<void> {
  await eventually(async () => {
    const inboxes = await server.command('PUBSUB', 'CHANNELS', 'redsem:inbox:*');
    return (inboxes as string[]).length === count;
  }, `${count} processes listen`);
}
