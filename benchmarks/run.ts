// npm run bench                every question (about 20 minutes), writes results/ and README.md
// npm run bench -- NAME...     only these
// npm run bench -- --quick     a smoke test in less than a minute, writes nothing
// npm run bench -- --redraw    charts and README from the results that are there, runs nothing
import { installPeers } from './install-peers.js';

installPeers();
// Only now: what it imports may have been missing.
const { runFromCommandLine } = await import('./command-line.js');
process.exitCode = await runFromCommandLine(process.argv.slice(2));
