"""Parts that the system tests share: a server in a process of its own, a client, and a verdict."""
