"""The installed library: its files, its symbols, its headers, and programs that find it with pkg-config."""

import os
import pathlib
import re
import shutil
import unittest

from installed import CC, CXX, EXAMPLES, HAVE_CUDA, LIBRARIES, PREFIX, SOURCE, WARNINGS, command, main, oracle, pkg_config, scratch

HERE = pathlib.Path(__file__).resolve().parent
SYMBOLS = HERE / "symbols.txt"
# Only in builds with CUDA.
DEVICE_HEADERS = {"device_samples.hpp", "device_span.hpp"}
DEVICE_SYMBOLS = re.compile("_ZN7gpuhist(17count_device_span|20count_device_samples|18sum_device_samples|15workspace_bytes|17prepare_workspace|15describe_tuning)")
HEADERS = sorted(path.name for path in (PREFIX / "include" / "gpuhist").iterdir())


def exported_symbols():
    """(mangled, demangled) of each symbol that libgpuhist.so defines for others."""
    printed = command("nm", "-D", "--defined-only", "--format=posix", LIBRARIES / "libgpuhist.so").stdout
    mangled = [line.split()[0] for line in printed.splitlines()]
    readable = command("c++filt", input="\n".join(mangled).encode()).stdout.splitlines()
    return sorted(zip(mangled, readable))


class Symbols(unittest.TestCase):
    def test_the_exported_symbols_are_those_of_the_list(self):
        found = [mangled for mangled, _ in exported_symbols()]
        if not HAVE_CUDA:
            found = sorted({*found, *filter(DEVICE_SYMBOLS.match, SYMBOLS.read_text().split())})
        if os.environ.get("TEST_WRITE_GOLDEN"):
            SYMBOLS.write_text("\n".join(found) + "\n")
        self.assertEqual(found, SYMBOLS.read_text().split(), "if this is intended: TEST_WRITE_GOLDEN=1 writes the list")

    def test_only_names_of_gpuhist_are_exported_and_no_internal_ones(self):
        for mangled, readable in exported_symbols():
            with self.subTest(symbol=readable):
                self.assertRegex(mangled, "^(gpuhist_|_ZNK?7gpuhist|_ZT[IVS]N7gpuhist)")
                name = re.sub(r"\(.*", "", readable)
                self.assertNotRegex(name, "boost|nlohmann|hwy|simdjson|toml|CLI|gpuhist::(pipeline|io|gpu|config|async)|::state::")

    def test_the_name_of_the_shared_library_has_the_version_of_the_abi(self):
        version = re.search(r"GPUHIST_ABI_VERSION (\d+)", (PREFIX / "include/gpuhist/gpuhist.h").read_text()).group(1)
        self.assertIn(f"[libgpuhist.so.{version}]", command("readelf", "-d", LIBRARIES / "libgpuhist.so").stdout)


class Headers(unittest.TestCase):
    """Each public header compiles alone, with the warnings that consumers use as errors."""

    def compiled(self, compiler, language, header):
        options = ["-fsyntax-only", *pkg_config("--cflags"), *(option for option in WARNINGS if language != "c" or option != "-Wold-style-cast")]
        if header in DEVICE_HEADERS:
            runtime = pathlib.Path(shutil.which("nvcc")).resolve().parents[1] / "include"
            options += ["-isystem", runtime]
        standard = "-std=c11" if language == "c" else "-std=c++20"
        command(compiler, standard, *options, "-x", language, "-", input=f"#include <gpuhist/{header}>\n".encode())

    def test_every_header_compiles_alone_without_warnings(self):
        self.assertIn("gpuhist.hpp", HEADERS)
        self.assertEqual(DEVICE_HEADERS & set(HEADERS), DEVICE_HEADERS if HAVE_CUDA else set())
        for header in HEADERS:
            with self.subTest(header=header):
                self.compiled(CXX, "c++", header)

    def test_the_code_in_the_guide_compiles(self):
        guide = (SOURCE / "docs" / "embedding.md").read_text()
        blocks = [block for block in re.findall(r"\n\n((?:    .*\n)+)", guide) if "gpuhist::counter" in block or "gpuhist::count_files" in block]
        self.assertEqual(len(blocks), 2, "one for a counter, one for files")
        program = "#include <gpuhist/gpuhist.hpp>\ntemplate <typename T> void use(const T&) {}\n" + "".join(
            f"void block_{number}(const std::string& text) {{\nuse(text);\n{block}}}\n" for number, block in enumerate(blocks)
        )
        command(CXX, "-std=c++20", "-fsyntax-only", *WARNINGS, *pkg_config("--cflags"), "-x", "c++", "-", input=program.encode())

    def test_the_code_in_the_page_on_samples_compiles(self):
        page = (SOURCE / "docs" / "samples.md").read_text()
        include, code = re.search(r"\n\n    (#include .*)\n\n((?:    .*\n)+)", page).groups()
        program = f"{include}\nvoid block(const std::vector<float>& pixels) {{\n{code}}}\n"
        command(CXX, "-std=c++20", "-fsyntax-only", *WARNINGS, *pkg_config("--cflags"), "-x", "c++", "-", input=program.encode())

    def test_the_c_header_is_also_c(self):
        self.compiled(CC, "c", "gpuhist.h")

    def test_the_layout_of_the_c_structure_is_that_of_abi_version_0(self):
        command(CC, "-std=c11", "-fsyntax-only", *pkg_config("--cflags"), HERE / "abi_layout.c")


class Files(unittest.TestCase):
    def test_the_documentation_is_installed_and_links_within_it_work(self):
        documentation = PREFIX / "share" / "doc" / "gpuhist"
        for page in [documentation / "README.md", *documentation.glob("docs/**/*.md")]:
            for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
                if (page.parent / link).resolve().is_relative_to(documentation / "docs"):
                    with self.subTest(page=page.name, link=link):
                        self.assertTrue((page.parent / link).exists())
        self.assertTrue((documentation / "LICENSE").exists())
        self.assertTrue((documentation / "docs" / "examples" / "count_stdin.c").exists())

    def test_no_installed_file_names_the_source_or_the_build_folder(self):
        for path in [*LIBRARIES.rglob("*.cmake"), *LIBRARIES.rglob("*.pc"), *(PREFIX / "include").rglob("*.*")]:
            with self.subTest(path=path.name):
                self.assertNotIn(str(SOURCE), path.read_text())


class PkgConfig(unittest.TestCase):
    def build_and_run(self, *libraries):
        program = scratch(self) / "count_stdin"
        command(CC, "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", EXAMPLES / "count_stdin.c", "-o", program, *pkg_config("--cflags"), *libraries)
        printed = command(program, input=b"hello, world\n", env={**os.environ, "LD_LIBRARY_PATH": str(LIBRARIES)}).stdout
        expected = oracle(b"hello, world\n")["buckets"]["letters"]
        self.assertEqual(printed, "".join(f"{name} {count}\n" for name, count in expected.items()))
        return command("readelf", "-d", program).stdout

    def test_a_c_program_links_the_shared_library_and_nothing_else(self):
        self.assertEqual(pkg_config("--libs")[-1], "-lgpuhist")
        needed = self.build_and_run(*pkg_config("--libs"))
        self.assertIn("libgpuhist.so.0", needed)
        self.assertNotIn("libzstd", needed)

    def test_a_c_program_links_the_static_library(self):
        libraries = ["-l:libgpuhist.a" if each == "-lgpuhist" else each for each in pkg_config("--static", "--libs")]
        needed = self.build_and_run(*libraries)
        self.assertNotIn("libgpuhist", needed)
        self.assertIn("libzstd", needed)

    def test_the_example_of_the_readme_prints_what_the_readme_shows(self):
        readme = (SOURCE / "README.md").read_text()
        source, shown = re.search(r"((?:    #include .*\n)(?:(?:    .*)?\n)*?    \}\n)(?:(?!    ).*\n)+((?:    .*\n)+)", readme).groups()
        folder = scratch(self)
        (folder / "greeting.cpp").write_text(re.sub("^    ", "", source, flags=re.MULTILINE))
        build, *printed = re.sub("^    ", "", shown, flags=re.MULTILINE).splitlines()
        self.assertTrue(build.startswith("$ g++ "), build)
        environment = {**os.environ, "PKG_CONFIG_PATH": str(LIBRARIES / "pkgconfig"), "LD_LIBRARY_PATH": str(LIBRARIES)}
        ended = command("bash", "-c", build.removeprefix("$ "), cwd=folder, env=environment)
        self.assertEqual(ended.stdout.splitlines(), printed)


if __name__ == "__main__":
    main()
