"""What the system tests have in common: a server in a process of its own, a client, and a verdict."""
