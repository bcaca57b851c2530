"""The list of Debian's packages in the image, as an SPDX document, and their licences."""
import json
import os
import re
import subprocess
from urllib.parse import quote

# Packages whose libraries or headers are parts of Canopy's programs.
LINKED = ("libabsl-dev", "libc-ares-dev", "libgcc-12-dev", "libgrpc++-dev",
          "libgrpc-dev", "libprotobuf-dev", "libre2-dev", "libsqlite3-dev",
          "libstdc++-12-dev", "libtomlplusplus-dev", "nlohmann-json3-dev", "zlib1g-dev")
FORMAT = "${Package}\t${Version}\t${Architecture}\n"
UNKNOWN = "NOASSERTION"


def query(*arguments):
    """Returns the lines of dpkg-query, which fails if it does not find all."""
    return subprocess.run(["dpkg-query", *arguments], check=False, text=True,
                          capture_output=True).stdout.splitlines()


def packages_of(files):
    """Returns the packages of files. A package has a file below / or below /usr."""
    spellings = {one: path for path in files for one in (path, path.removeprefix("/usr"))}
    owners = {}
    for line in query("-S", *spellings):
        owner, path = line.split(": ", 1)
        if path in spellings:
            owners[spellings[path]] = owner.split(",")[0]
    for path in files:
        if path not in owners:
            raise FileNotFoundError(f"{path} is of no package of Debian")
    return set(owners.values())


def packages(files):
    """Returns name, version, architecture and relationship of each package: those of
    files that are copied, and those whose parts are linked."""
    found = {tuple(line.split("\t")): "CONTAINS"
             for line in query("-W", "-f", FORMAT, *packages_of(files))}
    linked = query("-W", "-f", FORMAT, *LINKED)
    for line in linked:
        found.setdefault(tuple(line.split("\t")), "STATIC_LINK")
    missing = set(LINKED) - {line.split("\t")[0] for line in linked}
    if missing:
        raise FileNotFoundError(f"not installed: {' '.join(sorted(missing))}; "
                                "'deploy/packages/ensure build' installs it")
    return sorted((*package, how) for package, how in found.items())


def copyrights(listed):
    """Returns the files with the copyrights of packages, by their paths in the image."""
    paths = {f"usr/share/doc/{name}/copyright" for name, *_ in listed}
    return {path: open("/" + path, "rb").read() for path in sorted(paths)
            if os.path.isfile("/" + path)}


def entry(name, version, architecture, source):
    return {"SPDXID": identifier(name), "name": name, "versionInfo": version,
            "supplier": source, "downloadLocation": UNKNOWN, "filesAnalyzed": False,
            "licenseConcluded": UNKNOWN, "licenseDeclared": UNKNOWN,
            "copyrightText": UNKNOWN, "externalRefs": [{
                "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                "referenceLocator":
                    f"pkg:deb/debian/{quote(name)}@{quote(version, safe='')}"
                    f"?arch={architecture}"}]}


def identifier(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def document(listed, version, digest, created):
    """Returns the document. `digest` is that of Canopy's own files, which distinguishes
    the documents of two images."""
    canopy = {"SPDXID": identifier("canopy"), "name": "canopy", "versionInfo": version,
              "downloadLocation": UNKNOWN, "filesAnalyzed": False,
              "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0",
              "copyrightText": UNKNOWN}
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                  "relatedSpdxElement": identifier("canopy")}]
    for name, _, _, how in listed:
        relations.append({"spdxElementId": identifier("canopy"), "relationshipType": how,
                          "relatedSpdxElement": identifier(name)})
    return json.dumps({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT", "name": f"canopyd {version}",
        "documentNamespace": f"https://canopy.invalid/spdx/canopyd-{digest}",
        "creationInfo": {"created": created, "creators": ["Tool: deploy/image/build"]},
        "packages": [canopy, *(entry(name, number, architecture, "Organization: Debian")
                               for name, number, architecture, _ in listed)],
        "relationships": relations}, indent=1, sort_keys=True)
