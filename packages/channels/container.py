"""A container that crun runs from an image's layers, with the image's user, command and environment."""

from __future__ import annotations

import io
import json
import os
import pathlib
import tarfile
import tempfile

from . import project
from .archive import extract
from .isolation import Program

# Mounts that a runtime makes in each container; everything else is read-only.
MOUNTS = [
    {"destination": "/proc", "type": "proc", "source": "proc"},
    {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755", "size=64k"]},
]


class Image:
    """The image of an architecture, read from an OCI layout in a tar."""

    def __init__(self, path: pathlib.Path, architecture: str) -> None:
        with tarfile.open(path) as archive:
            self.blobs = {member.name: archive.extractfile(member).read() for member in archive if member.isfile()}
        index = self.blob(json.loads(self.blobs["index.json"])["manifests"][0])
        found = [entry for entry in json.loads(index)["manifests"] if entry["platform"]["architecture"] == architecture]
        self.manifest = json.loads(self.blob(found[0]))
        self.settings = json.loads(self.blob(self.manifest["config"]))["config"]

    def blob(self, descriptor: dict) -> bytes:
        """The content that a descriptor names."""
        return self.blobs[f"blobs/{descriptor['digest'].replace(':', '/')}"]

    def unpack(self, root: pathlib.Path) -> int:
        """Writes the files of the image, and returns their size in bytes."""
        for layer in self.manifest["layers"]:
            with tarfile.open(fileobj=io.BytesIO(self.blob(layer))) as archive:
                extract(archive, root)
        return sum(path.stat().st_size for path in root.rglob("*") if path.is_file())


class Container(Program):
    """A container with a read-only root on the network of this process; the command's arguments replace the image's."""

    def __init__(self, bundle: pathlib.Path, settings: dict, *, user: str | None = None,
                 folders: dict[str, pathlib.Path] | None = None) -> None:
        self.name = f"serow-{os.getpid()}-{bundle.name}"
        self.state = tempfile.TemporaryDirectory()
        owner, group = (user or settings["User"]).split(":")
        (bundle / "config.json").write_text(json.dumps({
            "ociVersion": "1.0.2",
            "root": {"path": "rootfs", "readonly": True},
            "mounts": MOUNTS + [{"destination": place, "source": str(source), "options": ["bind", "ro"]}
                                for place, source in (folders or {}).items()],
            "process": {"user": {"uid": int(owner), "gid": int(group)}, "cwd": settings["WorkingDir"],
                        "env": settings["Env"], "args": settings["Entrypoint"] + settings["Cmd"],
                        "noNewPrivileges": True, "capabilities": {}},
            "linux": {"namespaces": [{"type": kind} for kind in ("pid", "mount", "ipc", "uts")]},
        }))
        unify_cgroups()
        super().__init__([*self.crun(), "run", f"--bundle={bundle}", self.name], environment=dict(os.environ))

    def crun(self) -> list[str]:
        """crun without cgroups, which the test does not need and cannot always have."""
        return ["crun", "--cgroup-manager=disabled", f"--root={self.state.name}"]

    def __exit__(self, *_) -> None:
        if self.process.poll() is None:
            project.run([*self.crun(), "kill", self.name, "KILL"])
        super().__exit__()

    def execute(self, command: list[str]) -> str:
        """Runs a command in the container, as a health check does, and returns what it printed."""
        return project.run([*self.crun(), "exec", self.name, *command])

    def kill(self, signal: str) -> None:
        """Sends a signal to process 1 of the container."""
        project.run([*self.crun(), "kill", self.name, signal])


def unify_cgroups() -> None:
    """Mounts cgroups of version 2 for this process and its children: crun refuses to mix them with version 1."""
    place = pathlib.Path("/sys/fs/cgroup")
    if not (place / "cgroup.controllers").exists():
        project.run(["mount", "-t", "cgroup2", "cgroup2", place])
