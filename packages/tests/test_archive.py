"""Archives and images are the same, byte for byte, whatever the order and the time."""

from __future__ import annotations

import io
import json
import pathlib
import tarfile
import tempfile
import unittest
from unittest import mock

from channels import archive, binaries, crates, debian, image, licences, sbom


class Archives(unittest.TestCase):
    def test_order_and_time_do_not_change_an_archive(self) -> None:
        entries = {"b": archive.Entry(b"2", 0o755), "a/c": archive.Entry(b"1"), "a": archive.folder(0o1777, owner=7)}
        with mock.patch("time.time", return_value=0.0):
            one = archive.compress(archive.tar(entries))
        other = archive.compress(archive.tar(dict(reversed(entries.items()))))
        self.assertEqual(one, other)
        with tarfile.open(fileobj=io.BytesIO(one)) as read:
            self.assertEqual([(member.name, member.mode, member.uid) for member in read],
                             [("a", 0o1777, 7), ("a/c", 0o644, 0), ("b", 0o755, 0)])

    def test_the_image_has_a_manifest_for_each_architecture_and_only_blobs_with_their_digests(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for target in binaries.TARGETS:
                (pathlib.Path(folder) / target).mkdir()
                (pathlib.Path(folder) / target / "serow").write_bytes(target.encode())
            with mock.patch.object(image, "program", lambda path: archive.Entry(path.read_bytes(), 0o755)):
                stored: dict[str, bytes] = {}
                manifests = [image.image(binaries.Binaries(pathlib.Path(folder)), target, stored)
                             for target in binaries.TARGETS]
        self.assertEqual([manifest["platform"]["architecture"] for manifest in manifests], ["amd64", "arm64"])
        for manifest in manifests:
            described = json.loads(stored[manifest["digest"].removeprefix("sha256:")])
            for part in [described["config"], *described["layers"]]:
                self.assertEqual(len(stored[part["digest"].removeprefix("sha256:")]), part["size"])


class Contents(unittest.TestCase):
    def test_the_sbom_relates_only_packages_that_it_lists(self) -> None:
        document = json.loads(sbom.document())
        listed = {package["SPDXID"] for package in document["packages"]} | {"SPDXRef-DOCUMENT"}
        relations = document["relationships"]
        related = {relation[end] for relation in relations for end in ("spdxElementId", "relatedSpdxElement")}
        self.assertEqual(related - listed, set())
        self.assertEqual(len(listed), len(document["packages"]) + 1)

    def test_the_licences_of_libraries_in_c_are_included(self) -> None:
        text = licences.third_party().decode()
        for place in ("aws-lc/LICENSE", "luajit2/COPYRIGHT", "zstd/LICENSE", "mimalloc/v2/LICENSE", "musl", "Rust's"):
            self.assertIn(place, text)

    def test_build_tools_and_macros_are_not_in_the_binary(self) -> None:
        names = {crate.name for crate in crates.crates()}
        self.assertLessEqual({"serow-cli", "rustls", "luajit-src"}, names)
        self.assertEqual(names & {"serde_derive", "cc", "rcgen-cli", "tempfile", "syn"}, set())

    def test_debian_orders_versions_before_a_release_before_it(self) -> None:
        with mock.patch("channels.project.version", return_value="1.0.0-rc.1"):
            self.assertEqual(debian.version(), "1.0.0~rc.1-1")


if __name__ == "__main__":
    unittest.main()
