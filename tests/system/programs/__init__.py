"""Programs in Node, Go, Ruby and Python, which `serow app -- COMMAND` runs: they answer, die, and are deployed under load."""
