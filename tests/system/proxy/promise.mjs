// A static server whose handling of a request is a promise of its response.
//
//     node promise.mjs SOCKET FOLDER

import fs from "node:fs";
import http from "node:http";
import path from "node:path";

const [socket, folder] = process.argv.slice(2);
const types = { ".html": "text/html", ".js": "text/javascript" };

function handled(request) {
  const file = path.join(folder, path.normalize(new URL(request.url, "http://localhost").pathname));
  if (request.url === "/broken") return Promise.reject(new Error("a promise that is not kept"));
  return fs.promises.stat(file).then(
    (found) => ({ status: 200, type: types[path.extname(file)] ?? "application/octet-stream", size: found.size, file }),
    () => ({ status: 404 }),
  );
}

http.createServer((request, response) => {
  handled(request).then(({ status, type, size, file }) => {
    response.statusCode = status;
    if (!file) return response.end("no such file\n");
    response.setHeader("Content-Type", type);
    // Every other file goes without a length, as streams do.
    if (size % 2) response.setHeader("Content-Length", size);
    return fs.createReadStream(file).pipe(response);
  }).catch((error) => {
    response.statusCode = 500;
    response.end(`${error.message}\n`);
  });
}).listen(socket);
