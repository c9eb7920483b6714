"""Packages: members of ar archives, of Debian packages and of rpm packages, compared with a parser of ar and Python's
tarfile, and with what rpm2cpio and cpio find. The packages are made by ar, dpkg-deb and rpmbuild."""

import gzip
import io
import os
import struct
import subprocess
import tarfile

from support import CommandTest, main, needs, remarks, run, run_fed, tar, text

JSON = ("--format", "json", "--buckets", "letters,bytes")
FILES = {"var/a.log": text(70_000), "var/b.log": text(900, 2), "var/empty": b""}
SPEC = """Name: t
Version: 1
Release: 1
Summary: t
License: none
BuildArch: noarch
%define _binary_payload {payload}
%description
t
%files
/*
"""


def in_ar(archive):
    """Names and contents of the members of an ar archive of GNU, BSD or Debian."""
    members, names, at = [], b"", 8
    while at < len(archive):
        name, size = archive[at : at + 16].rstrip(), int(archive[at + 48 : at + 58])
        body = archive[at + 60 : at + 60 + size]
        at += 60 + size + size % 2
        if name == b"//":
            names = body
        elif name.startswith(b"#1/"):
            length = int(name[3:])
            members.append((body[:length].rstrip(b"\0").decode(), body[length:]))
        elif name.startswith(b"/") and name[1:].isdigit():
            members.append((names[int(name[1:]) :].split(b"/\n")[0].decode(), body))
        elif name not in (b"/", b"/SYM64/"):
            members.append((name.rstrip(b"/").decode(), body))
    return members


def ar_entry(name, body):
    return f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(body):<10}`\n".encode() + body + b"\n" * (len(body) % 2)


class PackageTest(CommandTest):
    def tree(self, files=FILES):
        root = self.folder / "tree"
        for name, data in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(data)
        return root

    def assert_read(self, name, archive, members):
        """As a file, from a pipe, and within a tar."""
        path, outer = self.file(name, archive), self.file("outer.tar", tar({name: archive}))
        for shown, ended in ((path, run(*JSON, path)), ("(standard input)", run_fed([archive[:50], archive[50:]], *JSON)),
                             (f"{outer}/{name}", run(*JSON, outer))):  # fmt: skip
            with self.subTest(name=name, shown=str(shown)):
                self.assertEqual((ended.status, remarks(ended), ended.result["complete"]), (0, [], True), ended)
                self.assertEqual([each["name"] for each in ended.result["inputs"]], [f"{shown}/{path}" for path, _ in members])
                for reported, (_, data) in zip(ended.result["inputs"], members):
                    self.assert_counts(reported, data)

    def assert_incomplete(self, name, archive, words, members):
        """The counted members are these."""
        for ended in (run(*JSON, self.file(name, archive)), run_fed([archive], *JSON)):
            self.assertEqual((ended.status, ended.result["complete"]), (1, False), ended)
            self.assertIn(words, ended.stderr)
            self.assertLessEqual({each["bytes"] for each in ended.result["inputs"] if each["complete"]}, {len(data) for _, data in members})


@needs("ar")
class Ar(PackageTest):
    NAMES = {"a": text(700), "a_name_of_more_than_sixteen_characters.log": text(3001, 2), "empty": b"", "odd.log": b"abc", "z": text(60_000, 3)}

    def ar(self, options="rc"):
        root = self.tree(self.NAMES)
        (root / "x.a").unlink(missing_ok=True)
        subprocess.run(["ar", options, "x.a", *self.NAMES], cwd=root, check=True)
        return (root / "x.a").read_bytes()

    def test_members_with_short_and_long_names_are_inputs_and_indexes_are_not(self):
        archive = self.ar()
        self.assertEqual(in_ar(archive), [*self.NAMES.items()])
        self.assert_read("x.ar", archive, in_ar(archive))
        self.assert_read("data", archive, in_ar(archive))  # by content
        self.assert_read("x.ar.gz", gzip.compress(archive), in_ar(archive))
        indexed = archive[:8] + ar_entry("/", struct.pack(">II", 1, 68) + b"symbol\0\0") + archive[8:]
        self.assert_read("library", indexed, in_ar(indexed))
        bsd = b"!<arch>\n" + ar_entry("__.SYMDEF", b"1234") + ar_entry("#1/20", b"a name with blanks\0\0" + text(99)) + ar_entry("b", b"xyz")
        self.assert_read("bsd", bsd, in_ar(bsd)[1:])

    def test_of_every_cut_the_members_before_it_are_counted_and_the_archive_is_incomplete(self):
        archive, members = self.ar(), [*self.NAMES.items()]
        ends, at = set(), 8
        while at < len(archive):
            size = int(archive[at + 48 : at + 58])
            ends.add(at + 60 + size + size % 2)
            at += 60 + size + size % 2
        for size in (*range(69, 200, 7), *range(200, len(archive), 2999), *ends):
            ended = run(*JSON, self.file("x.ar", archive[:size]))
            with self.subTest(size=size):
                self.assertEqual(ended.result["complete"], size in ends or size == len(archive), ended)
                counted = [each["bytes"] for each in ended.result["inputs"] if each["complete"] and "x.ar/" in each["name"]]
                self.assertEqual(counted, [len(data) for _, data in members][: len(counted)])
        damaged = bytearray(archive)
        damaged[damaged.index(b"`\n", 700)] ^= 1
        self.assert_incomplete("x.ar", bytes(damaged), "has no header where the next member should begin", members)

    def test_text_that_begins_with_its_magic_number_is_text(self):
        for content in (b"!<arch>\n", b"!<arch>\nis the first line of an archive\n" * 4):
            self.assert_counted(run(*JSON, self.file("x.log", content)), content)


@needs("dpkg-deb")
class Deb(PackageTest):
    def deb(self, compression):
        root = self.tree()
        (root / "DEBIAN").mkdir(exist_ok=True)
        (root / "DEBIAN" / "control").write_text("Package: t\nVersion: 1\nArchitecture: all\nMaintainer: T <t@example.com>\nDescription: t\n")
        subprocess.run(["dpkg-deb", f"-Z{compression}", "-b", root, self.folder / "made.deb"], check=True, stdout=subprocess.DEVNULL)
        return (self.folder / "made.deb").read_bytes()

    def members(self, package):
        """The members of the ar, those that are tar archives replaced by their files."""
        found = []
        for name, data in in_ar(package):
            if ".tar" not in name:
                found.append((name, data))
                continue
            if name.endswith(".zst"):
                data = subprocess.run(["zstd", "-dc"], input=data, stdout=subprocess.PIPE, check=True).stdout
            with tarfile.open(fileobj=io.BytesIO(data)) as opened:
                found += [(f"{name}/{each.name}", opened.extractfile(each).read()) for each in opened if each.isreg()]
        return found

    def test_the_files_in_both_archives_of_a_package_are_inputs_whatever_their_compression(self):
        for compression in ("gzip", "xz", "zstd", "none"):
            package = self.deb(compression)
            members = [(name.replace("/var", "/./var") if "/./" not in name else name, data) for name, data in self.members(package)]
            self.assertLessEqual({data for data in FILES.values()}, {data for _, data in members})
            self.assert_read("x.deb", package, members)

    def test_a_package_without_its_data_ends_early_and_one_that_is_damaged_is_incomplete(self):
        package = self.deb("xz")
        cut = package[: package.index(b"data.tar")]
        self.assert_incomplete("x.deb", cut, "is a Debian package that ends early, without its member data.tar", self.members(package))
        damaged = bytearray(package)
        damaged[-3000] ^= 1
        self.assert_incomplete("x.deb", bytes(damaged), "does not decode, or does not match its checksum", self.members(package))


@needs("rpmbuild", "rpm2cpio", "cpio")
class Rpm(PackageTest):
    def rpm(self, payload):
        root = self.tree()
        (self.folder / "t.spec").write_text(SPEC.format(payload=payload))
        subprocess.run(["rpmbuild", "-bb", "--quiet", "--define", f"_topdir {self.folder}/top", "--define", f"_rpmdir {self.folder}",
                        "--define", "_rpmfilename made.rpm", "--buildroot", root, "--noclean", self.folder / "t.spec"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "HOME": str(self.folder)})  # fmt: skip
        return (self.folder / "made.rpm").read_bytes()

    def members(self):
        """What rpm2cpio and cpio find in the package."""
        payload = subprocess.run(["rpm2cpio", self.folder / "made.rpm"], stdout=subprocess.PIPE, check=True).stdout
        found = self.folder / "found"
        found.mkdir(exist_ok=True)
        listed = subprocess.run(["cpio", "-it", "--quiet"], input=payload, stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()
        subprocess.run(["cpio", "-idu", "--quiet", "--no-absolute-filenames"], input=payload, cwd=found, check=True)
        return [(name, (found / name).read_bytes()) for name in listed if (found / name).is_file()]

    def test_the_files_of_a_package_are_inputs_whatever_its_compression(self):
        for payload, format in (("w9.gzdio", "gzip"), ("w6.xzdio", "xz"), ("w9.bzdio", "bzip2"), ("w19.zstdio", "zstd")):
            package = self.rpm(payload)
            members = self.members()
            self.assertEqual(sorted(data for _, data in members), sorted(FILES.values()))
            self.assert_read("x.rpm", package, members)
            formats = {each["format"] for each in run(*JSON, self.folder / "x.rpm").result["inputs"]}
            self.assertEqual(formats, {f"cpio.{format}.rpm"})
            self.assert_read("by_content", package, members)

    def test_a_package_whose_payload_is_not_compressed_is_read(self):
        package = self.rpm("w9.gzdio")
        members = self.members()
        begin = package.index(b"\x1f\x8b\x08")
        self.assert_read("x.rpm", package[:begin] + gzip.decompress(package[begin:]), members)

    def test_a_package_that_is_cut_or_damaged_is_incomplete(self):
        package = self.rpm("w9.gzdio")
        members, begin = self.members(), package.index(b"\x1f\x8b\x08")
        for size in (4, 95, 96, 100, 200, begin - 1):
            self.assert_incomplete("x.rpm", package[:size], "ends early, within the headers of an rpm package", members)
        for size in (begin, begin + 5, begin + 3000, len(package) - 1):
            self.assert_incomplete("x.rpm", package[:size], "", members)
        damaged = bytearray(package)
        damaged[96] ^= 1
        self.assert_incomplete("x.rpm", bytes(damaged), "damaged rpm package: no header is found where one should be, at offset 96", members)
        damaged = bytearray(package)
        damaged[-3] ^= 1
        self.assert_incomplete("x.rpm", bytes(damaged), "does not have the length that its trailer states", members)


if __name__ == "__main__":
    main()
