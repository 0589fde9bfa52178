#!/bin/bash
# WsgiDAV 4.4.0 (PyPI), called by WSGI below a prefix (SCRIPT_NAME is /dav): COPY of a file to the place where PROPFIND has it.
#
# Expected before it was run: SCRIPT_NAME is the prefix of all URLs (PEP 3333), so a Destination below it is a place in the
# share, whatever the share is called; without the prefix, the Destination belongs to somebody else.
#
# Seen: without the setting `mount_path`, only a Destination without the prefix succeeds; with the prefix, COPY is 409, or 502
# for a share that is not at the root. With `mount_path`, a share at the root can be copied in; COPY in a share of another name
# is 502 with the prefix and without.
set -euo pipefail
if [ "${1-}" = --help ]; then
    echo "usage: findings/wsgidav-prefix.sh: COPY below a prefix in WsgiDAV; installs it in a temporary folder"
    exit
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv environment
environment/bin/pip install --quiet --disable-pip-version-check wsgidav==4.4.0
cat >look.py <<'PY'
import io, logging, os, sys, tempfile
from wsgidav.wsgidav_app import WsgiDAVApp

logging.disable(logging.CRITICAL)


def status(app, method, path, **fields):
    environ = {
        'REQUEST_METHOD': method, 'SCRIPT_NAME': '/dav', 'PATH_INFO': path, 'QUERY_STRING': '', 'SERVER_NAME': 'localhost',
        'SERVER_PORT': '80', 'SERVER_PROTOCOL': 'HTTP/1.1', 'HTTP_HOST': 'localhost', 'CONTENT_LENGTH': '0', 'wsgi.version': (1, 0),
        'wsgi.url_scheme': 'http', 'wsgi.input': io.BytesIO(), 'wsgi.errors': sys.stderr, 'wsgi.multithread': False,
        'wsgi.multiprocess': False, 'wsgi.run_once': False, **fields,
    }
    statuses = []
    list(app(environ, lambda line, fields, exc_info=None: statuses.append(line)))
    return statuses[0][:3]


for mount_path in (None, '/dav'):
    for share in ('', '/files'):
        with tempfile.TemporaryDirectory() as folder:
            open(os.path.join(folder, 'a'), 'w').close()
            app = WsgiDAVApp({'provider_mapping': {share or '/': folder}, 'simple_dc': {'user_mapping': {'*': True}},
                              'verbose': 0, 'mount_path': mount_path})
            found = status(app, 'PROPFIND', f'{share}/a', HTTP_DEPTH='0')
            copies = [status(app, 'COPY', f'{share}/a', HTTP_DESTINATION=f'http://localhost{prefix}{share}/b') for prefix in ('/dav', '')]
            print(f'mount_path {mount_path}, share {share or "/"}: PROPFIND {found}, COPY with prefix {copies[0]}, without {copies[1]}')
PY
expected='mount_path None, share /: PROPFIND 207, COPY with prefix 409, without 201
mount_path None, share /files: PROPFIND 207, COPY with prefix 502, without 201
mount_path /dav, share /: PROPFIND 207, COPY with prefix 201, without 502
mount_path /dav, share /files: PROPFIND 207, COPY with prefix 502, without 502'
seen=$(environment/bin/python look.py)
echo "$seen"
[ "$seen" = "$expected" ] || { echo "expected:
$expected" >&2; exit 1; }
