#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The components of a release as SPDX 2.3: each file with its checksum, and what the packages and the wheel depend on.
usage: sbom.py VERSION FILE..., with SOURCE_DATE_EPOCH for the time; the document goes to standard output."""
import datetime
import hashlib
import json
import os
import re
import subprocess
import sys
import zipfile

LICENCE = "Apache-2.0"


def identifier(*words):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]+", "-", "-".join(words))


def depends_of(path):
    """(kind, name, version or None) of each dependency; the first of alternatives."""
    if path.endswith(".deb"):
        listed = subprocess.run(["dpkg-deb", "-f", path, "Depends"], capture_output=True, text=True, check=True).stdout.split(",")
        found = [re.match(r"\s*([a-z0-9.+-]+)(?:\s*\([>=< ]*([^)]*)\))?", word) for word in listed if word.strip()]
        return [("deb", m[1], m[2]) for m in found]
    if path.endswith(".whl"):
        with zipfile.ZipFile(path) as wheel:
            metadata = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
            text = wheel.read(metadata).decode()
        found = re.findall(r"(?m)^Requires-Dist: ([A-Za-z0-9._-]+)(?: *\(?[>=]+ *([0-9.]+)\)?)?", text)
        return [("pypi", name, version or None) for name, version in found]
    return []


def package(name, version, **more):
    return {"SPDXID": identifier(more.pop("kind"), name), "name": name, "versionInfo": version or "any", "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "copyrightText": "NOASSERTION", **more}


def release_file(path, version):
    with open(path, "rb") as f:
        digest = hashlib.sha256(f.read()).hexdigest()
    return package(os.path.basename(path), version, kind="file", licenseConcluded=LICENCE, licenseDeclared=LICENCE,
                   checksums=[{"algorithm": "SHA256", "checksumValue": digest}])


def needed(kind, name, version):
    place = f"pkg:deb/debian/{name}" if kind == "deb" else f"pkg:pypi/{name.lower()}"
    return package(name, f"at least {version}" if version else None, kind=kind, licenseConcluded="NOASSERTION", licenseDeclared="NOASSERTION",
                   externalRefs=[{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": place}])


def document(version, paths):
    files = [release_file(path, version) for path in paths]
    others, relations = {}, []
    for path, file in zip(paths, files):
        relations.append(("SPDXRef-DOCUMENT", "DESCRIBES", file["SPDXID"]))
        for kind, name, wanted in depends_of(path):
            other = needed(kind, name, wanted)
            others.setdefault(other["SPDXID"], other)
            relations.append((file["SPDXID"], "DEPENDS_ON", other["SPDXID"]))
    sums = hashlib.sha256("".join(f["checksums"][0]["checksumValue"] for f in files).encode()).hexdigest()
    made = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"heliograph-{version}",
            "documentNamespace": f"https://spdx.org/spdxdocs/heliograph-{version}-{sums}",
            "creationInfo": {"created": made.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: heliograph-tools/sbom.py"]},
            "packages": files + [others[key] for key in sorted(others)],
            "relationships": [{"spdxElementId": a, "relationshipType": how, "relatedSpdxElement": b} for a, how, b in relations]}


def main():
    json.dump(document(sys.argv[1], sys.argv[2:]), sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
