// tsx by itself registers with the main thread alone; a keeper has a thread of its own.
import { register } from 'tsx/esm/api';

register();
