// The backend of a map: a large picture at once, and a script that it takes 200 ms to make.
//
//     node tile.mjs SOCKET PICTURE SCRIPT      sizes in bytes

import http from "node:http";

const [socket, picture, script] = process.argv.slice(2);
const late = 200;

const body = (size) => Buffer.alloc(Number(size), "serow ");

http.createServer((request, response) => {
  if (request.url === "/picture.png") {
    response.setHeader("Content-Type", "image/png");
    response.end(body(picture));
  } else if (request.url === "/script.js") {
    response.setHeader("Content-Type", "text/javascript");
    setTimeout(() => response.end(body(script)), late);
  } else {
    response.statusCode = 404;
    response.end();
  }
}).listen(socket);
