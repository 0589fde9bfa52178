# The part for WSGI.
