import { acquire } from '../../src/backends/redis/acquire.js';
import * as admin from '../../src/backends/redis/admin.js';
import { type Script, script } from '../../src/backends/redis/compose-script.js';
import { extend } from '../../src/backends/redis/extend.js';
import { release } from '../../src/backends/redis/release.js';

const others = ['check-server', 'eviction-policy', 'inspect', 'list-names', 'note-stripes'];
const ofQuorum = ['quorum-drop', 'quorum-hold', 'quorum-list'];

/** Every script that is sent to a server. */
export const redisScripts: readonly Script[] = [
  ...new Set([acquire, extend, release, ...Object.values(admin)].map((one) => one.script)),
  ...[...others, ...ofQuorum].map((name) => script(name)),
];
