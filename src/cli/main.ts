#!/usr/bin/env node
import { runCommandLine } from './command-line.js';

// All output is written by then. The exit does not wait for a client that still tries to connect.
process.exit(await runCommandLine(process.argv.slice(2)));
