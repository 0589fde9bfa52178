"""The web server Serow, as a Python package: the program `serow`, and where it is."""

from __future__ import annotations

import os
import sysconfig

__all__ = ["find_program"]


def find_program() -> str:
    """The path of the program that was installed with this package.

    Raises FileNotFoundError if it has been removed.
    """
    folders = _folders()
    for folder in folders:
        path = os.path.join(folder, "serow")
        if os.path.isfile(path):
            return path
    looked = ", ".join(folders)
    raise FileNotFoundError(f"the program serow is not in {looked}: run pip install --force-reinstall serow")


def _folders() -> list[str]:
    """Where pip puts programs, for each way to install."""
    packages = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folders = [
        # pip install, also in a virtual environment
        sysconfig.get_path("scripts"),
        # pip install --user
        sysconfig.get_path("scripts", scheme=_user_scheme()),
        # pip install --prefix: lib/python3.x/site-packages and bin are below the same folder
        os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(packages))), "bin"),
        # pip install --target
        os.path.join(packages, "bin"),
    ]
    return list(dict.fromkeys(folders))


def _user_scheme() -> str:
    if hasattr(sysconfig, "get_preferred_scheme"):
        return sysconfig.get_preferred_scheme("user")
    # Python 3.8 and 3.9
    return "posix_user"
