"""Faults of real machines, each inflicted on a server on purpose: see the modules, one subject each."""
