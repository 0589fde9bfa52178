"""Django behind nginx, by the server of Python's library."""

import sys
from wsgiref.simple_server import make_server

from site_wsgi import application

make_server("127.0.0.1", int(sys.argv[1]), application).serve_forever()
