"""The samples of bench/formats.py: a log, the same text as 64 files, and both compressed in every format."""

import concurrent.futures
import os
import zipfile

from commands import Pipeline, made, made_by, pipeline_of, run

PARTS = 64


def make_log(program, folder, size):
    """Returns the path of the log, which `program` (make_log) writes. bench/pipeline.sh uses the same file."""
    folder.mkdir(parents=True, exist_ok=True)
    return made_by(folder / f"bench-{size}.log", Pipeline([[program, size]]))


def make_parts(log):
    """Returns a folder with the log as 64 files of the same size."""

    def write(folder):
        folder.mkdir(exist_ok=True)
        size = -(-os.path.getsize(log) // PARTS)
        with log.open("rb") as text:
            for number in range(PARTS):
                (folder / f"part-{number:02}.log").write_bytes(text.read(size))

    return made(log.with_name(f"{log.name}.parts"), write)


def write_zip(path, parts):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for part in sorted(parts.iterdir()):
            archive.write(part, part.name)


def make_sample(each, log, tools, threads):
    path = log.with_name(f"{log.name}.{each.suffix}")
    parts = log.with_name(f"{log.name}.parts")
    if path.exists():
        return path
    template = each.installed_maker(tools)
    if not template:
        return made(path, lambda unfinished: write_zip(unfinished, parts))

    def pipeline(output):
        return pipeline_of(template, tools, log=log, parts=parts, threads=threads, output=output)

    if "{output}" in template:
        return made(path, lambda unfinished: run(pipeline(unfinished)))
    return made_by(path, pipeline(""))


def make_samples(formats, log, tools, threads):
    """Makes the missing samples, as many at once as there are threads. Returns the paths by the name of the format."""
    make_parts(log)
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        paths = pool.map(lambda each: make_sample(each, log, tools, threads), formats)
        return dict(zip((each.name for each in formats), paths))
