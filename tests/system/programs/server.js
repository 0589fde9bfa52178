// An application with Express. Its answer is known from the request's id and its path: ../proxy/content.py.
'use strict'
const fs = require('fs')
const express = require('express')

const VERSION = process.env.VERSION || ''

const content = (seed, size) => {
  const line = `${seed}\n`
  return line.repeat(Math.ceil(size / line.length) + 1).slice(0, size)
}

const app = express()
app.use(express.raw({ type: () => true }))
app.all('/bytes/:size', (request, response) => {
  const id = request.get('x-id') || ''
  if (request.method === 'POST') fs.appendFileSync(process.env.DONE, `${id}\n`)
  setTimeout(() => response.set('x-id', id).type('text/plain').send(content(id, Number(request.params.size))), 2)
})
app.get('/version', (_, response) => response.send(VERSION))
app.get('/pid', (_, response) => response.send(String(process.pid)))
app.get('/ticks', (_, response) => {
  response.set('content-type', 'text/event-stream').write('data: 0\n\n')
  setTimeout(() => response.end('data: 1\n\n'), 1000)
})

const server = app.listen(process.env.PORT, '127.0.0.1', () => console.log(`listening with ${app.settings.env}`))
// The simplest of all other protocols: each line comes back.
server.on('upgrade', (_, socket) => {
  socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n')
  socket.pipe(socket)
})
process.on('SIGTERM', () => server.close(() => process.exit(0)))
