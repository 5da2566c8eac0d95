// Starts the reference server "everything" over streamable HTTP, or over HTTP+SSE at /sse, on loopback only.
//
// Usage: PORT=0 node everything.mjs [sse]
// Prints "listening on 127.0.0.1:<port>" once it accepts connections. With PORT=0 the system picks a free port.
// The package itself can only listen on every interface, so its call to listen is narrowed here.

import net from "node:net";

const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (port, ...rest) {
  this.once("listening", () => console.log(`listening on 127.0.0.1:${this.address().port}`));
  return listen.call(this, Number(port), "127.0.0.1", ...rest);
};

const transport = process.argv[2] === "sse" ? "sse" : "streamableHttp";
await import(`@modelcontextprotocol/server-everything/dist/transports/${transport}.js`);
