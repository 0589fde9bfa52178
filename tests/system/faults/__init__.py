"""What goes wrong on real machines, each done to a server on purpose: see the modules, one subject each."""
