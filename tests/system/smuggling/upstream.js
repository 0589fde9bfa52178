// A server that answers every request with what it has seen when it has it whole, and writes that to standard output.
const http = require("http");

http.createServer((request, response) => {
  let length = 0;
  request.on("data", (piece) => (length += piece.length));
  request.on("end", () => {
    const content = `${request.method} ${request.url} ${length}\n`;
    process.stdout.write(`${request.method} ${request.url}\n`);
    response.setHeader("X-Seen", `${request.method} ${request.url}`);
    response.setHeader("Content-Length", content.length);
    response.end(request.method === "HEAD" ? undefined : content);
  });
}).listen(Number(process.argv[2]), "127.0.0.1");
