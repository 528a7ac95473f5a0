import * as quorumScripts from '../../src/backends/quorum/scripts.js';
import { acquire } from '../../src/backends/redis/acquire.js';
import * as admin from '../../src/backends/redis/admin.js';
import { type Script, script } from '../../src/backends/redis/compose-script.js';
import { extend } from '../../src/backends/redis/extend.js';
import { release } from '../../src/backends/redis/release.js';

const others = ['check-server', 'eviction', 'inspect', 'list-names', 'note-stripes', 'overview'];

/** Every script that is sent to a server. */
export const redisScripts: readonly Script[] = [
  ...new Set([acquire, extend, release, ...Object.values(admin)].map((one) => one.script)),
  ...others.map((name) => script(name)),
  ...Object.values(quorumScripts),
];
