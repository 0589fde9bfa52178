#!/bin/bash
# proxy-protocol-js 4.0.6 (npm): two headers of the PROXY protocol that its specification allows.
#
# Expected before it was run: "PROXY UNKNOWN" without addresses is a connection without an address, since the specification
# has senders write that line for what is neither TCP over IPv4 nor IPv6; and the fields (TLV) of a binary header are part of
# the header, since its length counts them.
#
# Seen: the short line is refused with an error, and the long form of it is accepted. The fields of a binary header are handed
# over as the first bytes of the data behind the header.
set -euo pipefail
if [ "${1-}" = --help ]; then
    echo "usage: findings/proxy-protocol-js.sh: headers of the PROXY protocol in proxy-protocol-js; installs them in a temporary folder"
    exit
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-fund --no-audit --prefix . proxy-protocol-js@4.0.6 >/dev/null
cat >look.js <<'JS'
const { V1ProxyProtocol, V2ProxyProtocol } = require('proxy-protocol-js')
const line = (text) => {
  try {
    return V1ProxyProtocol.parse(text).inetProtocol
  } catch (error) {
    return error.message
  }
}
console.log('short:', line('PROXY UNKNOWN\r\n'))
console.log('long:', line('PROXY UNKNOWN ffff:f:f:f:f:f:f:ffff ffff:f:f:f:f:f:f:ffff 65535 65535\r\n'))
// PROXY, TCP over IPv4, 15 bytes: two addresses, two ports, and a field of the type "no operation" (4) without a value.
const header = Buffer.from('0d0a0d0a000d0a515549540a2111000f' + '0102030405060708' + '00010002' + '040000', 'hex')
console.log('data:', V2ProxyProtocol.parse(Buffer.concat([header, Buffer.from('GET')])).data.toString('hex'))
JS
expected="short: given data isn't suitable for V1 PROXY protocols definition
long: UNKNOWN
data: 040000474554"
seen=$(node look.js)
echo "$seen"
[ "$seen" = "$expected" ] || { echo "expected:
$expected" >&2; exit 1; }
