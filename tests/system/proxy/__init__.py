"""The reverse proxy: servers behind it that go wrong, bodies, checks, balance, Node programs, WebSocket."""
