// Preloaded into a sample that is run as its page has it: connections to the reader's servers (port
// 6379 of localhost, a, b or c) are made to the servers of the test. SAMPLE_PORTS: their ports.
import dns from 'node:dns/promises';
import { Socket } from 'node:net';

const ports = JSON.parse(process.env['SAMPLE_PORTS'] ?? '{}');
const connect = Reflect.get(Socket.prototype, 'connect');
const { lookup } = dns;

Socket.prototype.connect = function connectToOwn(first, ...rest) {
  // `net.connect` passes on its arguments as one array, which has a mark: options, and a listener.
  const options = Array.isArray(first) ? first[0] : first;
  if (options.port !== 6379) return connect.call(this, first, ...rest);
  const own = { ...options, host: '127.0.0.1', port: ports[options.host] ?? ports.localhost };
  const listeners = Array.isArray(first) ? [first[1]] : rest;
  return connect.call(this, own, ...listeners.filter((listener) => listener !== null));
};

// node-redis 6 asks for the address itself, too.
dns.lookup = (host, options) => lookup(host in ports ? '127.0.0.1' : host, options);
