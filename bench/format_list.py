"""The compressed formats that bench/formats.py measures: how a sample is made, the tools that decompress it, and the
target. Templates as in bench/commands.py.

Samples use fast levels of compression where the level changes the time to make the sample, but hardly the time to
decompress it. Sizes of blocks and members are those of the default levels."""

import dataclasses

from commands import tools_in

BZIP2 = ("lbzip2 -dc -n {threads} {file}", "pbzip2 -dc -p{threads} {file}", "bzip2 -dc {file}")
XZ = ("xz -dc -T{threads} {file}", "pixz -d -p {threads} <{file}")
LZIP = ("plzip -dc -n {threads} {file}", "lzip -dc {file}")
GZIP = (
    "rapidgzip -d -c -P {threads} {file}",
    "igzip -dc {file}",
    "pigz -dc -p {threads} {file}",
    "gzip -dc {file}",
)
ZSTD = ("zstd -qdc {file}", "pzstd -qdc -p {threads} {file}")
LZ4 = ("lz4 -qdc {file}",)

MAKE_BZIP2 = ("lbzip2 -9 -c -n {threads}", "bzip2 -9 -c")
MAKE_XZ = ("xz -2 --block-size=24MiB -T{threads} -c",)
MAKE_7Z = ("7z a -t7z -mx=1 -ms=off -bd -mmt={threads} {output} {parts}/.",)
TAR = "tar --sort=name -cf - -C {parts} . | "

SMALL_MACHINE = 1.05  # with fewer than 16 threads, the target of every format


@dataclasses.dataclass(frozen=True)
class Format:
    """`makers`: commands that write the sample to standard output or to {output}; the first one whose tools are
    installed is used; none: bench/format_samples.py makes it. `peers`: the commands to compare with. `at_16`: the upper
    bound of the ratio with 16 threads and more, to the fastest peer, or to the command that begins with
    `compared_with`; None: no target."""

    name: str
    suffix: str
    makers: tuple
    peers: tuple
    at_16: float | None = None
    compared_with: str = ""
    has_target: bool = True

    def target(self, threads):
        """The upper bound of the ratio, and the beginning of the peer's command ("": the fastest peer)."""
        if threads >= 16:
            return self.at_16, self.compared_with
        return (SMALL_MACHINE if self.has_target else None), ""

    def installed_maker(self, tools):
        return next((maker for maker in self.makers if all(tool in tools for tool in tools_in(maker))), None)

    def installed_peers(self, tools):
        return [peer for peer in self.peers if all(tool in tools for tool in tools_in(peer))]


def of_log(*compressors):
    return tuple(f"{each} {{log}}" for each in compressors)


def of_tar(*compressors):
    return tuple(TAR + each for each in compressors)


def into_tar(peers):
    return tuple(f"{each} | tar -xOf -" for each in peers)


FORMATS = (
    Format("bzip2", "bz2", of_log(*MAKE_BZIP2), BZIP2, 0.95),
    Format("xz", "xz", of_log(*MAKE_XZ), XZ, 1.05),
    Format("xz-1-block", "one.xz", of_log("xz -1 -T1 -c"), XZ, has_target=False),
    Format("lzip", "lz", of_log("plzip -1 -B16MiB -n {threads} -c"), LZIP, 1.0),
    Format("gzip", "gz", of_log("gzip -6 -c"), GZIP, 0.8),
    Format("bgzf", "bgz", of_log("bgzip -@ {threads} -c"), ("bgzip -dc -@ {threads} {file}", *GZIP)),
    Format("zstd", "zst", of_log("zstd -3 -q -c"), ZSTD, 0.95),
    Format("zstd-long", "long.zst", of_log("zstd -3 --long=27 -q -c"), ZSTD, 0.95),
    Format("zstd-frames", "many.zst", of_log("pzstd -3 -q -p {threads} -c"), ZSTD, 0.8),
    Format("lz4", "lz4", of_log("lz4 -q -c"), LZ4, 0.95),
    Format("lz4-dependent", "bd.lz4", of_log("lz4 -q -BD -c"), LZ4),
    Format("zip", "zip", (), ("unzip -p {file}", "7z x -so -bd {file}"), 0.1, "unzip"),
    Format("7z", "7z", MAKE_7Z, ("7z x -so -bd -mmt={threads} {file}",)),
    Format("tar.bz2", "tar.bz2", of_tar(*MAKE_BZIP2), into_tar(BZIP2)),
    Format("tar.xz", "tar.xz", of_tar(*MAKE_XZ), into_tar(XZ), 1.0, "xz"),
    Format("tar.gz", "tar.gz", of_tar("gzip -6 -c"), into_tar(GZIP)),
    Format("tar.zst", "tar.zst", of_tar("zstd -3 -q -c"), into_tar(ZSTD)),
)
