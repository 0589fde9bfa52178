// Notes with cookies, an upload in pieces, events and an error; as Express' guide has them.
const crypto = require('crypto')
const express = require('express')

const app = express()
app.set('trust proxy', 'loopback')
const root = process.env.ROOT || ''
const router = express.Router()
const users = request => /user=([^;]+)/.exec(request.headers.cookie || '')

router.get('/', (request, response) => {
  const user = users(request)
  response.send(`<h1>Notes of ${user ? decodeURIComponent(user[1]) : 'nobody'}</h1><a href="${request.baseUrl}/">Here</a>`)
})
router.post('/login', express.urlencoded({ extended: false }), (request, response) => {
  if (request.body.password !== 'secret') return response.status(403).send('wrong')
  response.cookie('user', request.body.user, { path: root || '/', httpOnly: true })
  response.redirect(`${request.baseUrl}/`)
})
router.post('/logout', (request, response) => {
  response.clearCookie('user', { path: root || '/' })
  response.redirect(`${request.baseUrl}/`)
})
router.put('/upload', (request, response) => {
  const digest = crypto.createHash('sha256')
  let length = 0
  request.on('data', piece => { digest.update(piece); length += piece.length })
  request.on('end', () => response.json({ length, digest: digest.digest('hex') }))
})
router.get('/page/:name', (request, response) => response.json({ name: request.params.name, host: request.get('host'), ip: request.ip, protocol: request.protocol }))
router.get('/events', (request, response) => {
  response.type('text/event-stream')
  let number = 0
  const next = () => {
    while (number < 2000) if (!response.write(`data: ${number++} ${'x'.repeat(1000)}\n\n`)) return response.once('drain', next)
    response.end()
  }
  next()
})
router.get('/dies', () => { throw new Error('as meant') })
app.use(root || '/', router)
app.listen(process.env.PORT, '127.0.0.1')
