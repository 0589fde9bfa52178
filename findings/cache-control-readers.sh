#!/bin/bash
# Three readers of Cache-Control from npm, on values that RFC 9111 §5.2 allows: http-cache-semantics 4.1.1,
# parse-cache-control 1.0.1 and @tusbar/cache-control 1.0.2.
#
# Expected before they were run: names of directives are read in capitals as well, since they are case-insensitive; an argument
# is read as a token and as a quoted string, which RFC 9111 asks recipients to do; and `private` with a list of fields still says
# that something of the response is private.
#
# Seen: http-cache-semantics does not know MAX-AGE, so the response is stale at once, and it counts the time of
# stale-while-revalidate as time to live. parse-cache-control keeps MAX-AGE as another directive with a text as its value.
# @tusbar/cache-control reads capitals, and ignores max-age in quotes and `private` with a list.
set -euo pipefail
if [ "${1-}" = --help ]; then
    echo "usage: findings/cache-control-readers.sh: Cache-Control in three readers from npm; installs them in a temporary folder"
    exit
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-fund --no-audit --prefix . \
    http-cache-semantics@4.1.1 parse-cache-control@1.0.1 @tusbar/cache-control@1.0.2 >/dev/null
cat >look.js <<'JS'
const Policy = require('http-cache-semantics')
const parse = require('parse-cache-control')
const tusbar = require('@tusbar/cache-control')
const values = [
  'max-age=60',
  'MAX-AGE=60',
  'max-age="60"',
  'max-age=60, stale-while-revalidate=30',
  'private="x-a", max-age=60',
]
for (const value of values) {
  const policy = new Policy({ url: '/', method: 'GET', headers: {} }, { status: 200, headers: { 'cache-control': value } })
  const semantics = `${policy.storable() ? 'stored' : 'not stored'} for ${Math.round(policy.timeToLive() / 1000)} s`
  const { maxAge, private: isPrivate } = tusbar.parse(value)
  console.log(`${value} | ${semantics} | ${JSON.stringify(parse(value))} | ${maxAge} ${isPrivate}`)
}
JS
expected='max-age=60 | stored for 60 s | {"max-age":60} | 60 false
MAX-AGE=60 | stored for 0 s | {"MAX-AGE":"60"} | 60 false
max-age="60" | stored for 60 s | {"max-age":60} | null false
max-age=60, stale-while-revalidate=30 | stored for 90 s | {"max-age":60,"stale-while-revalidate":"30"} | 60 false
private="x-a", max-age=60 | not stored for 0 s | {"private":"x-a","max-age":60} | 60 false'
seen=$(node look.js)
echo "$seen"
[ "$seen" = "$expected" ] || { echo "expected:
$expected" >&2; exit 1; }
