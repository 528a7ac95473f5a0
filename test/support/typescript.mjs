// As `--import tsx`, but in each thread: tsx by itself registers with the main thread alone, and a
// keeper has a thread apart. Both would compile each file twice.
import { register as registerRequire } from 'tsx/cjs/api';
import { register } from 'tsx/esm/api';

registerRequire();
register();
