// A page, uploads, and what Express answers itself.
const express = require('express');
const app = express();
app.set('trust proxy', 'loopback');
app.get('/', (request, response) => response.send('<h1>home</h1>'));
app.get('/pages/:name', (request, response) => {
  const query = request.url.split('?')[1] || '';
  response.type('text/plain').send(`${request.params.name} ${request.protocol} ${request.hostname} ${request.ip} ${query}`);
});
app.post('/uploads', (request, response) => {
  let size = 0;
  request.on('data', (piece) => { size += piece.length; });
  request.on('end', () => response.json({ size, type: request.get('content-type') }));
});
app.get('/go', (request, response) => response.redirect(301, '/pages/one'));
app.listen(process.env.PORT, '127.0.0.1');
