# Serow's bridge for WSGI and ASGI.
raise SystemExit("not yet")
