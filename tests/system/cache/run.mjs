// usage: node run.mjs FOLDER URL: runs http-cache-tests against the proxy at this URL, and prints the results as JSON.
import { createRequire } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

const [folder, url] = process.argv.slice(2)
const load = file => import(pathToFileURL(path.join(folder, file)).href)
const tests = (await load('tests/index.mjs')).default
const { runTests, getResults } = await load('client/runner.mjs')
const fetch = createRequire(path.join(folder, 'package.json'))('node-fetch')
const print = console.log
console.log = () => {}
// Some caches leave requests without a response.
const limited = (target, init) => fetch(target, { ...init, signal: AbortSignal.timeout(30000) })
await runTests(tests, limited, false, url)
const results = getResults()
// Tests for browsers and for CDNs are not about a shared cache.
const cases = tests.flatMap(suite => suite.tests).filter(test => !test.browser_only && !test.cdn_only)
print(JSON.stringify(cases.map(({ id, name, kind, depends_on: dependencies }) =>
  ({ id, name, kind: kind ?? 'required', dependencies: dependencies ?? [], result: results[id] ?? null }))))
