"""`python -m serow`: replaces this process with the program serow that the package contains."""

from __future__ import annotations

import os
import sys

from . import find_program


def main() -> None:
    try:
        program = find_program()
    except FileNotFoundError as error:
        sys.exit(f"python -m serow: {error}")
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
