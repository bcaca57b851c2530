"""Writes a root file system as an archive with one OCI image, which containerd, CRI-O,
podman and docker load. Equal files make equal archives."""
import gzip
import hashlib
import io
import json
import tarfile

MEDIA = "application/vnd.oci.image."
COMPRESSION = 6


def add(tar, name, content, mode, time, link=""):
    """Adds a file, or with `link` a symbolic link, or with no content a directory."""
    info = tarfile.TarInfo(name)
    info.mode, info.mtime = mode, time
    if link:
        info.type, info.linkname = tarfile.SYMTYPE, link
    elif content is None:
        info.type = tarfile.DIRTYPE
    else:
        info.size = len(content)
    tar.addfile(info, io.BytesIO(content or b""))


def layer_of(root, time):
    """Returns the tar archive of a root file system: a dictionary from paths to entries
    (root.py)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path in sorted(root):
            entry = root[path]
            add(tar, path, entry.content, entry.mode, time, entry.link)
    return out.getvalue()


def encode(document):
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


class Archive:
    """The blobs of an image, by their digests."""

    def __init__(self):
        self.files = {"oci-layout": encode({"imageLayoutVersion": "1.0.0"})}

    def blob(self, content, media):
        """Adds a blob, and returns its descriptor."""
        digest = hashlib.sha256(content).hexdigest()
        self.files[f"blobs/sha256/{digest}"] = content
        return {"mediaType": MEDIA + media, "digest": f"sha256:{digest}",
                "size": len(content)}


def path_of(descriptor):
    return "blobs/" + descriptor["digest"].replace(":", "/")


def image(root, settings, tag, time):
    """Returns the files of the archive. `settings` has the keys of the configuration that
    the caller decides: architecture, config and created."""
    archive = Archive()
    layer = layer_of(root, time)
    config = archive.blob(encode({
        **settings, "os": "linux",
        "rootfs": {"type": "layers",
                   "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]}}),
        "config.v1+json")
    packed = archive.blob(gzip.compress(layer, COMPRESSION, mtime=0), "layer.v1.tar+gzip")
    manifest = archive.blob(encode({
        "schemaVersion": 2, "mediaType": MEDIA + "manifest.v1+json",
        "config": config, "layers": [packed]}), "manifest.v1+json")
    # containerd takes the name of an image from the first annotation, others from the
    # second.
    manifest["annotations"] = {
        "io.containerd.image.name": tag,
        "org.opencontainers.image.ref.name": tag.rpartition(":")[2]}
    archive.files["index.json"] = encode({
        "schemaVersion": 2, "mediaType": MEDIA + "index.v1+json",
        "manifests": [manifest]})
    # Versions of docker before 25 read this file alone.
    archive.files["manifest.json"] = encode([{
        "Config": path_of(config), "RepoTags": [tag], "Layers": [path_of(packed)]}])
    return archive.files


def write(path, files, time):
    """Writes the archive."""
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as tar:
        for name in sorted(files):
            add(tar, name, files[name], 0o644, time)
