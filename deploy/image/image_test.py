#!/usr/bin/env python3
"""Makes images of small programs, and checks that they are complete, equal for equal
files, and as OCI specifies them."""
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
PROGRAMS = ("canopy", "canopy-full", "canopy-shim", "canopyd", "canopy-exec")
LIBRARIES = ("canopy-entry.so", "libpmi.so.0", "libpmi2.so.0", "libpmix.so.2")
PACKAGES = {"canopy": ("canopy", "canopy-full"),
            "canopyd": ("canopyd", "canopy-shim", "canopy-exec"),
            "libpmix2-canopy": LIBRARIES}
TIME = 1_700_000_000


def place(prefix, name):
    """Puts a program or a library of Debian into a prefix, under another name."""
    folder = "bin" if name in PROGRAMS else "lib/canopy"
    source = "/usr/bin/true" if name in PROGRAMS else "/lib/x86_64-linux-gnu/libz.so.1"
    os.makedirs(os.path.join(prefix, folder), exist_ok=True)
    shutil.copy(source, os.path.join(prefix, folder, name))


def build(*arguments):
    return subprocess.run(
        [os.path.join(HERE, "build"), *arguments], text=True, check=False,
        capture_output=True, env={**os.environ, "SOURCE_DATE_EPOCH": str(TIME)})


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Image:
    """An archive as a reader sees it."""

    def __init__(self, path):
        with tarfile.open(path) as tar:
            self.files = {member.name: tar.extractfile(member).read()
                          for member in tar.getmembers()}
        self.index = json.loads(self.files["index.json"])
        self.manifest = json.loads(self.blob(self.index["manifests"][0]))
        self.config = json.loads(self.blob(self.manifest["config"]))
        self.layer = gzip.decompress(self.blob(self.manifest["layers"][0]))
        with tarfile.open(fileobj=io.BytesIO(self.layer)) as tar:
            self.members = {member.name: member for member in tar.getmembers()}
            self.contents = {name: tar.extractfile(member).read()
                             for name, member in self.members.items() if member.isfile()}

    def blob(self, descriptor):
        content = self.files["blobs/" + descriptor["digest"].replace(":", "/")]
        assert len(content) == descriptor["size"]
        return content

    def target(self, path):
        """Returns the path to which links lead."""
        for _ in range(20):
            parts = path.split("/")
            prefixes = ["/".join(parts[:i + 1]) for i in range(len(parts))]
            link = next((one for one in prefixes if one in self.members and
                         self.members[one].issym()), None)
            if link is None:
                return path
            path = os.path.normpath(os.path.join(
                os.path.dirname(link), self.members[link].linkname,
                path[len(link) + 1:]))
        raise AssertionError(f"{path} leads in a circle")


def make(prefix, path):
    """Makes an image. Returns its path."""
    done = build("--tag", "registry.example/canopyd:7", "--prefix", prefix, path)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return path


class ImageTest(unittest.TestCase):
    """All tests share a prefix of small programs, and an image of it."""

    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.shared)
        cls.prefix = os.path.join(cls.shared, "prefix")
        for name in (*PROGRAMS, *LIBRARIES):
            place(cls.prefix, name)
        cls.path = make(cls.prefix, os.path.join(cls.shared, "image.tar"))
        cls.image = Image(cls.path)

    def setUp(self):
        self.work = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.work)

    def changed(self, name):
        """Returns the image of a prefix in which one program is another one."""
        prefix = os.path.join(self.work, "prefix")
        shutil.copytree(self.prefix, prefix, dirs_exist_ok=True)
        shutil.copy("/usr/bin/false", os.path.join(prefix, name))
        return Image(make(prefix, os.path.join(self.work, "image.tar")))

    def test_an_image_is_as_oci_specifies_it(self):
        image = self.image
        self.assertEqual(json.loads(image.files["oci-layout"]),
                         {"imageLayoutVersion": "1.0.0"})
        for name, content in image.files.items():
            if name.startswith("blobs/"):
                self.assertEqual(os.path.basename(name),
                                 hashlib.sha256(content).hexdigest())
        self.assertEqual(image.config["rootfs"]["diff_ids"],
                         ["sha256:" + hashlib.sha256(image.layer).hexdigest()])
        self.assertIn(image.config["architecture"], ("amd64", "arm64"))
        self.assertEqual(image.config["config"]["Entrypoint"], ["/usr/bin/canopyd"])
        docker, = json.loads(image.files["manifest.json"])
        self.assertEqual(docker["RepoTags"], ["registry.example/canopyd:7"])
        self.assertIn(docker["Config"], image.files)
        self.assertIn(docker["Layers"][0], image.files)

    def test_libraries_and_loaders_are_there(self):
        image = self.image
        for name, content in image.contents.items():
            if not content.startswith(b"\x7fELF"):
                continue
            path = os.path.join(self.work, "file")
            with open(path, "wb") as file:
                file.write(content)
            text = subprocess.run(["readelf", "-dlW", path], check=True, text=True,
                                  capture_output=True).stdout
            for needed in re.findall(r"\(NEEDED\).*\[(.*)\]", text):
                self.assertTrue(any(os.path.basename(one) == needed
                                    for one in image.contents), f"{name}: {needed}")
            for loader in re.findall(r"program interpreter: /(.*)\]", text):
                self.assertIn(image.target(loader), image.contents)

    def test_the_agent_finds_what_it_loads_later(self):
        names = {os.path.basename(one) for one in self.image.contents}
        self.assertLessEqual({"libcurl.so.4", "libhwloc.so.15", "libz.so.1"}, names)

    def test_links_lead_to_files_of_the_image(self):
        image = self.image
        for name, member in image.members.items():
            if member.issym():
                self.assertIn(image.target(name), image.members, name)

    def test_files_belong_to_root_and_have_no_special_modes(self):
        for member in self.image.members.values():
            self.assertEqual((member.uid, member.gid, member.mtime), (0, 0, TIME))
            self.assertIn(member.mode, (0o644, 0o755, 0o777))
            self.assertTrue(member.mode != 0o777 or member.issym(), member.name)

    def test_directories_precede_their_files(self):
        seen = set()
        for name in self.image.members:
            parent = os.path.dirname(name)
            self.assertTrue(not parent or parent in seen, name)
            seen.add(name)

    def test_equal_files_make_equal_images(self):
        second = make(self.prefix, os.path.join(self.work, "image.tar"))
        self.assertEqual(read(self.path), read(second))
        self.assertEqual(read(self.path + ".spdx.json"), read(second + ".spdx.json"))

    def test_other_files_for_pods_are_another_version(self):
        def version(image):
            return image.contents["usr/lib/canopy/host/version"]
        self.assertEqual(version(self.changed("bin/canopyd")), version(self.image))
        self.assertNotEqual(version(self.changed("bin/canopy-exec")),
                            version(self.image))

    def test_packages_are_listed_with_their_licences(self):
        document = json.loads(read(self.path + ".spdx.json"))
        names = [one["name"] for one in document["packages"]]
        self.assertEqual(len(names), len(set(names)))
        self.assertLessEqual({"canopy", "coreutils", "dash", "libc6", "libgrpc++-dev",
                              "libhwloc15", "libprotobuf-dev"}, set(names))
        version = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "dash"],
                                 check=True, text=True, capture_output=True).stdout
        dash, = [one for one in document["packages"] if one["name"] == "dash"]
        self.assertEqual(dash["versionInfo"], version)
        related = {one["relatedSpdxElement"] for one in document["relationships"]}
        self.assertEqual({one["SPDXID"] for one in document["packages"]}, related)
        contents = self.image.contents
        self.assertIn("usr/share/doc/libc6/copyright", contents)
        self.assertEqual(contents["usr/share/doc/canopyd/spdx.json"],
                         read(self.path + ".spdx.json"))

    def test_packages_make_the_same_image_as_their_files(self):
        packages = os.path.join(self.work, "packages")
        for package, names in PACKAGES.items():
            root = os.path.join(packages, package)
            for name in names:
                place(os.path.join(root, "usr"), name)
            os.mkdir(os.path.join(root, "DEBIAN"))
            with open(os.path.join(root, "DEBIAN/control"), "w",
                      encoding="utf-8") as file:
                file.write(f"Package: {package}\nVersion: 1\nArchitecture: all\n"
                           "Maintainer: test <test@example.org>\nDescription: test\n")
            subprocess.run(["dpkg-deb", "-b", root, f"{packages}/{package}_1_all.deb"],
                           check=True, capture_output=True)
        path = os.path.join(self.work, "of-packages.tar")
        done = build("--tag", "registry.example/canopyd:7", "--packages", packages, path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(read(path), read(self.path))

    def test_a_missing_program_is_named(self):
        path = os.path.join(self.work, "image.tar")
        done = build("--prefix", self.work, path)
        self.assertEqual(done.returncode, 1)
        self.assertIn("bin/canopyd does not exist", done.stderr)
        self.assertFalse(os.path.exists(path))

    def test_missing_packages_are_named(self):
        done = build("--packages", self.work, os.path.join(self.work, "image.tar"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("has 0 packages canopy", done.stderr)


if __name__ == "__main__":
    unittest.main()
