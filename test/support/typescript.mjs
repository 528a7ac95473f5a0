// tsx by itself registers with the main thread alone; a keeper has a thread apart.
import { register } from 'tsx/esm/api';

register();
