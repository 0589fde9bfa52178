"""The container image: the binary, certificate authorities and a page; an OCI layout in a tar, for both architectures.

Written by this script, without a daemon: <https://github.com/opencontainers/image-spec>.
"""

from __future__ import annotations

import hashlib
import json
import pathlib
import time

from . import documents, project, sbom
from .archive import Entry, compress, folder, program, tar
from .binaries import ARCHITECTURES, TARGETS, Binaries
from .error import ChannelError
from .image_trial import prepare, test

__all__ = ["build", "prepare", "test"]

SOURCES = project.SOURCES / "image"
# A user that no machine has, the number that distroless images introduced.
USER = 65532
SETTINGS = "/etc/serow/serow.toml"
# Debian's package ca-certificates; the binary looks here for certificate authorities.
AUTHORITIES = pathlib.Path("/etc/ssl/certs/ca-certificates.crt")
DOCUMENTS = "usr/share/doc/serow"
OCI = "application/vnd.oci.image"
NANOSECONDS = 1_000_000_000


def build(binaries: Binaries) -> list[pathlib.Path]:
    """The image, and the list of what it contains."""
    output = project.output("image")
    blobs: dict[str, bytes] = {}
    manifests = [image(binaries, target, blobs) for target in TARGETS]
    index = store(blobs, f"{OCI}.index.v1+json", encode({
        "schemaVersion": 2, "mediaType": f"{OCI}.index.v1+json", "manifests": manifests, "annotations": labels()}))
    # With a name before the tag: podman makes serow:VERSION of it, and of a tag alone an image of that name.
    index["annotations"] = {"org.opencontainers.image.ref.name": f"{project.NAME}:{project.version()}"}
    entries = {f"blobs/sha256/{digest}": Entry(blob) for digest, blob in blobs.items()}
    entries |= {"blobs": folder(), "blobs/sha256": folder()}
    entries["oci-layout"] = Entry(encode({"imageLayoutVersion": "1.0.0"}))
    entries["index.json"] = Entry(encode({
        "schemaVersion": 2, "mediaType": f"{OCI}.index.v1+json", "manifests": [index]}))
    name = f"{project.NAME}-{project.version()}"
    (output / f"{name}-image.tar").write_bytes(tar(entries))
    (output / f"{name}.spdx.json").write_bytes(sbom.document())
    return [output / f"{name}-image.tar", output / f"{name}.spdx.json"]


def image(binaries: Binaries, target: str, blobs: dict[str, bytes]) -> dict:
    """Adds the image of an architecture to the blobs, and returns the descriptor of its manifest."""
    layer = tar(contents(binaries, target))
    stored = store(blobs, f"{OCI}.layer.v1.tar+gzip", compress(layer))
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(project.build_time()))
    configuration = store(blobs, f"{OCI}.config.v1+json", encode({
        "created": created,
        "architecture": ARCHITECTURES[target],
        "os": "linux",
        "config": settings(),
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
        "history": [{"created": created, "created_by": "packages/build image"}],
    }))
    manifest = store(blobs, f"{OCI}.manifest.v1+json", encode({
        "schemaVersion": 2, "mediaType": f"{OCI}.manifest.v1+json", "config": configuration, "layers": [stored],
        "annotations": labels()}))
    return manifest | {"platform": {"architecture": ARCHITECTURES[target], "os": "linux"}}


def settings() -> dict:
    """How the container runs: without arguments it runs the settings file, with arguments another command of serow."""
    return {
        "User": f"{USER}:{USER}",
        "ExposedPorts": {"8080/tcp": {}, "8443/tcp": {}},
        "Env": ["PATH=/"],
        "Entrypoint": ["/serow"],
        "Cmd": ["run", "-c", SETTINGS],
        "WorkingDir": "/public",
        "Labels": labels(),
        "StopSignal": "SIGTERM",
        # Not in OCI's specification; Docker reads it, as from its own images.
        "Healthcheck": {"Test": ["CMD", "/serow", "status", "-c", SETTINGS], "Interval": 30 * NANOSECONDS,
                        "Timeout": 5 * NANOSECONDS, "StartPeriod": 5 * NANOSECONDS, "Retries": 3},
    }


def labels() -> dict[str, str]:
    """OCI's annotations of an image."""
    return {f"org.opencontainers.image.{key}": value for key, value in (
        ("title", project.NAME), ("description", project.SUMMARY), ("version", project.version()),
        ("url", project.HOMEPAGE), ("licenses", project.LICENCE), ("vendor", project.MAINTAINER))}


def contents(binaries: Binaries, target: str) -> dict[str, Entry]:
    """The files of the image; everybody may read them, since some clusters choose the user."""
    if not AUTHORITIES.exists():
        raise ChannelError(f"{AUTHORITIES} is missing; run: packages/install")
    user = f"serow:x:{USER}:{USER}:Serow:/public:/serow\n"
    files = {
        "serow": program(binaries.path(target)),
        SETTINGS[1:]: Entry((SOURCES / "serow.toml").read_bytes()),
        "public/index.html": Entry((SOURCES / "index.html").read_bytes()),
        str(AUTHORITIES)[1:]: Entry(AUTHORITIES.read_bytes()),
        "etc/passwd": Entry(f"root:x:0:0:root:/:/serow\n{user}".encode()),
        "etc/group": Entry(f"root:x:0:\nserow:x:{USER}:\n".encode()),
        # For sockets, and for bodies of requests.
        "run/serow": folder(0o1777),
        "tmp": folder(0o1777),
        f"{DOCUMENTS}/serow.spdx.json": Entry(sbom.document()),
    }
    files |= {f"{DOCUMENTS}/{name}": Entry(text) for name, text in documents.licences().items()}
    parents = {str(parent) for name in files for parent in pathlib.PurePath(name).parents if str(parent) != "."}
    return {parent: folder() for parent in parents} | files


def store(blobs: dict[str, bytes], kind: str, blob: bytes) -> dict:
    """Adds a blob, and returns its descriptor."""
    digest = hashlib.sha256(blob).hexdigest()
    blobs[digest] = blob
    return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(blob)}


def encode(value: dict) -> bytes:
    """JSON with its keys in order: the digest depends on each byte."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
