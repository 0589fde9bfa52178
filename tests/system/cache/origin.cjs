// Loaded before the suite's own origin: it listens on this machine only, and not on all addresses.
const net = require('net')
const listen = net.Server.prototype.listen
net.Server.prototype.listen = function (port, ...rest) {
  const hasHost = typeof rest[0] === 'string'
  return hasHost ? listen.call(this, port, ...rest) : listen.call(this, Number(port), '127.0.0.1', ...rest)
}
