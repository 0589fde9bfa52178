// A server that answers every request with what it has seen, and writes it to standard output.
const http = require("http");

http.createServer((request, response) => {
  let length = 0;
  process.stdout.write(`${request.method} ${request.url}\n`);
  request.on("data", (piece) => (length += piece.length));
  request.on("end", () => {
    const content = `${request.method} ${request.url} ${length}\n`;
    response.setHeader("X-Seen", `${request.method} ${request.url}`);
    response.setHeader("Content-Length", content.length);
    response.end(request.method === "HEAD" ? undefined : content);
  });
}).listen(Number(process.argv[2]), "127.0.0.1");
