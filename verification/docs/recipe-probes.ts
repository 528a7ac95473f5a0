// What the recipes say beside what they print. Each probe is the first part of a recipe as the page has it, and goes on in its own way.

/** The middleware of the Express recipe under requests that end badly. */
export function expressProbe(recipe: string): string {
  return `${upTo(recipe, '\nconst client = ')}
const client = await createClient({ url: process.env['REDIS_URL'] ?? '' }).connect();
const semaphore = new Semaphore(client, 'express-probe', { limit: 1 });
const app = express();
app.get('/', atMost(semaphore, 20_000), () => undefined); // never answers
const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');
const address = server.address();
const url = \`http://127.0.0.1:\${typeof address === 'object' ? address?.port : ''}/\`;

function request(): { leave(): void; readonly end: Promise<string> } {
  const controller = new AbortController();
  const end = fetch(url, { signal: controller.signal }).then(
    (answer) => \`answered \${answer.status}\`,
    (error: Error) => error.name,
  );
  return { leave: () => controller.abort(), end };
}

async function reaches(held: number, waiting: number): Promise<void> {
  for (;;) {
    const state = await semaphore.inspect();
    if (state.held === held && state.waiting === waiting) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const first = request();
await reaches(1, 0);
const second = request();
await reaches(1, 1);
second.leave();
console.log('who waits and leaves:', await second.end);
await reaches(1, 0);
first.leave();
console.log('who holds and leaves:', await first.end);
await reaches(0, 0);

const third = request();
await reaches(1, 0);
const [holder] = (await semaphore.inspect()).holders;
await semaphore.revoke(holder?.id ?? '');
console.log('whose permit is lost:', await third.end);

server.close();
server.closeAllConnections();
await semaphore.close();
await client.close();
`;
}

export const EXPRESS_PROBE_OUTPUT =
  'who waits and leaves: AbortError\nwho holds and leaves: AbortError\nwhose permit is lost: TypeError\n';

/** The application of the NestJS recipe, asked to end while it holds a permit; its heartbeat would keep that for ever. */
export function nestProbe(recipe: string): string {
  return `${upTo(recipe, '\nconst client = ')}
const { slot } = await app.get(ReportPermits).acquire();
console.log('holds slot', slot);
process.kill(process.pid, 'SIGTERM');
`;
}

function upTo(code: string, mark: string): string {
  const end = code.indexOf(mark);
  if (end === -1) throw new Error(`a recipe has no ${mark.trim()}`);
  return code.slice(0, end);
}
