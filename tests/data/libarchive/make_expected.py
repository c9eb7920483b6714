"""make_expected.py FOLDER: writes expected.txt. For each archive in FOLDER: the number of bytes of the files in it, and a
digest of the counts of all byte values, found by programs that share no code with libarchive: GNU tar, GNU cpio, Python's
zipfile, and 7-Zip where zipfile does not support the method. "refused" where they report damage, encryption or no archive."""

import collections
import hashlib
import io
import pathlib
import stat
import subprocess
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
DECODERS = {".gz": "gzip", ".tgz": "gzip", ".Z": "gzip", ".tbz": "bzip2", ".txz": "xz", ".lz4": "lz4", ".zst": "zstd"}


class Refused(Exception):
    pass


def output(*command, data=None):
    done = subprocess.run(command, input=data, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if done.returncode != 0:
        raise Refused
    return done.stdout


def decoded(path):
    data = path.read_bytes()
    if path.suffix == ".tlz":
        return output("lzip" if data.startswith(b"LZIP") else "xz", "-dcq", data=data)
    if path.suffix in DECODERS:
        return output(DECODERS[path.suffix], "-dcq", data=data)
    return data


def of_zip(data):
    """The files in it, one after the other, and those of archives in it; links are no files."""
    texts = []
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for member in archive.infolist():
            if not member.is_dir() and not stat.S_ISLNK(member.external_attr >> 16):
                text = archive.read(member)
                texts.append(of_zip(text) if member.filename.endswith(".zip") else text)
    return b"".join(texts)


def content(path):
    if ".7z" in path.suffixes:
        return output("7z", "x", "-so", "-pX", str(path))
    if path.suffix in (".zip", ".zipx", ".jar"):
        try:
            return of_zip(path.read_bytes())
        except NotImplementedError:
            return output("7z", "x", "-so", "-pX", str(path))
        except Exception as error:  # whatever it stumbles over
            raise Refused from error
    if ".cpio" in path.suffixes:
        return output("cpio", "-i", "--to-stdout", "--quiet", data=decoded(path))
    return output("tar", "-xOf", "-", data=decoded(path))


def digest(counts):
    """Of the 256 counts."""
    return hashlib.sha256(",".join(map(str, counts)).encode()).hexdigest()


def line_of(path):
    try:
        text = content(path)
    except Refused:
        return f"{path.name} refused"
    counts = collections.Counter(text)
    return f"{path.name} {len(text)} {digest([counts[value] for value in range(256)])}"


def main():
    folder = pathlib.Path(sys.argv[1])
    archives = sorted(each for each in folder.iterdir() if each.suffix not in (".md", ".txt") and each.name != "LICENSE")
    (HERE / "expected.txt").write_text("".join(line_of(each) + "\n" for each in archives))


if __name__ == "__main__":
    main()
