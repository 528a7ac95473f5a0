#!/usr/bin/env node
import { runCommandLine } from './command-line.js';

// All output is out by then; a client that still tries to connect must not keep the shell
// waiting.
process.exit(await runCommandLine(process.argv.slice(2)));
