"""The list of what the binary contains (SBOM), in SPDX 2.3's JSON."""

from __future__ import annotations

import json
import re
import time
import tomllib

from . import project
from .crates import Crate, crates


def document() -> bytes:
    """The document of this version, the same for all targets."""
    packages = [package(crate) for crate in crates()]
    relations = [relation("SPDXRef-DOCUMENT", "DESCRIBES", identifier("serow-cli", project.version()))]
    for crate in crates():
        for used in crate.uses:
            relations.append(relation(identifier(crate.name, crate.version), "DEPENDS_ON", identifier(*used.split())))
    name = f"{project.NAME}-{project.version()}"
    return json.dumps({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": f"{project.HOMEPAGE}/spdx/{name}",
        "creationInfo": {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(project.build_time())),
            "creators": [f"Organization: {project.MAINTAINER}"],
        },
        "packages": packages,
        "relationships": relations,
    }, indent=1).encode()


def package(crate: Crate) -> dict:
    """A crate as SPDX describes it."""
    described = {
        "SPDXID": identifier(crate.name, crate.version),
        "name": crate.name,
        "versionInfo": crate.version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        # Crates of some years ago separate alternatives with a slash.
        "licenseDeclared": crate.licence.replace("/", " OR ") if "see" not in crate.licence else "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                          "referenceLocator": f"pkg:cargo/{crate.name}@{crate.version.replace('+', '%2B')}"}],
    }
    checksum = checksums().get((crate.name, crate.version))
    if checksum is not None:
        described["checksums"] = [{"algorithm": "SHA256", "checksumValue": checksum}]
    return described


def checksums() -> dict[tuple[str, str], str]:
    """The sums of the crates' archives, as Cargo.lock has them."""
    locked = tomllib.loads((project.ROOT / "Cargo.lock").read_text())["package"]
    return {(crate["name"], crate["version"]): crate["checksum"] for crate in locked if "checksum" in crate}


def identifier(name: str, version: str) -> str:
    """An SPDX identifier: letters, digits, dots and hyphens."""
    return re.sub(r"[^A-Za-z0-9.-]", "-", f"SPDXRef-{name}-{version}")


def relation(one: str, kind: str, other: str) -> dict:
    """A relationship of two elements."""
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
