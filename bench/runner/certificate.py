"""The certificate of the servers under test."""

from __future__ import annotations

import pathlib
import subprocess


def write(folder: pathlib.Path) -> None:
    """Writes cert.pem and key.pem, for localhost."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-days", "2",
                    "-keyout", folder / "key.pem", "-out", folder / "cert.pem"], check=True, capture_output=True)
    # Workers that give up root read them too.
    (folder / "key.pem").chmod(0o644)
