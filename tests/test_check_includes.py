"""check_includes finds every include and every namespace that is not allowed, and nothing else."""

import pathlib
import tempfile
import unittest

from check_includes import ALLOWED, violations


class CheckIncludes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in (*ALLOWED, "gpu/cuda", "gpu/host", "pipeline/flow/inputs", "pipeline/flow/statistics", "tests/support"):
            (self.root / name).mkdir(parents=True, exist_ok=True)
        for name in ("config/size.hpp", "io/source.hpp", "gpu/tally.hpp", "command/plan.hpp", "tests/support/fake.hpp"):
            (self.root / name).write_text("#pragma once\n")

    def found_in(self, name, text):
        path = self.root / name
        path.write_text(text)
        found = violations(self.root)
        path.unlink()
        return found

    def test_includes_of_lower_folders_and_of_the_own_folder_are_allowed(self):
        below = '#include "gpu/tally.hpp"\n#include "io/source.hpp"\n#include "config/size.hpp"\n#include <vector>\n'
        self.assertEqual(self.found_in("command/a.cpp", below + '#include "command/plan.hpp"\n#include "plan.hpp"\n'), [])
        self.assertEqual(self.found_in("gpu/cuda/a.cu", '#include "gpu/tally.hpp"\n#include "../tally.hpp"\n'), [])
        self.assertEqual(self.found_in("io/a.cpp", '#include <sys/stat.h>\n#include <boost/asio/io_context.hpp>\n'), [])

    def test_every_other_include_is_reported_with_its_line(self):
        headers = {"config": "config/size.hpp", "io": "io/source.hpp", "gpu": "gpu/tally.hpp", "pipeline": "command/plan.hpp"}
        for folder in ("config", "io", "gpu"):
            for other in headers.keys() - {folder}:
                with self.subTest(folder=folder, other=other):
                    (found,) = self.found_in(f"{folder}/a.cpp", f'#include <vector>\n#include "{headers[other]}"\n')
                    self.assertTrue(found.startswith(f"{folder}/a.cpp:2: "), found)

    def test_a_folder_from_the_pipeline_on_includes_only_those_below_it(self):
        folders = ["pipeline/counts", "pipeline/flow", "report", "library", "batch", "command"]
        for number, folder in enumerate(folders):
            for other in folders[number + 1 :]:
                with self.subTest(folder=folder, other=other):
                    (found,) = self.found_in(f"{folder}/a.cpp", f'#include "{other}/b.hpp"\n')
                    self.assertEqual(found, f"{folder}/a.cpp:1: {folder} may not include {other}/b.hpp")

    def test_a_report_includes_only_the_statistics_of_the_flow(self):
        self.assertEqual(self.found_in("report/a.cpp", '#include "pipeline/flow/statistics/run_stats.hpp"\n'), [])
        self.assertEqual(len(self.found_in("report/a.cpp", '#include "pipeline/flow/ring.hpp"\n')), 1)

    def test_clients_of_the_library_include_nothing_of_the_flow_except_where_the_command_repacks(self):
        self.assertEqual(len(self.found_in("batch/a.cpp", '#include "pipeline/flow/driver.hpp"\n')), 1)
        self.assertEqual(len(self.found_in("command/a.cpp", '#include "pipeline/flow/driver.hpp"\n')), 1)
        (self.root / "command/repack").mkdir()
        self.assertEqual(self.found_in("command/repack/a.cpp", '#include "pipeline/flow/driver.hpp"\n'), [])

    def test_a_cycle_between_folders_is_reported_with_its_includes(self):
        (self.root / "gpu/host/b.hpp").write_text('#include "gpu/cuda/c.hpp"\n')
        (found,) = self.found_in("gpu/cuda/a.cpp", '#include "gpu/host/b.hpp"\n')
        self.assertIn("gpu/cuda/a.cpp:1 (gpu/cuda to gpu/host)", found)
        self.assertIn("gpu/host/b.hpp:1 (gpu/host to gpu/cuda)", found)

    def test_a_public_header_that_includes_asio_is_reported_with_the_chain_of_includes(self):
        (self.root / "io/source.hpp").write_text("#include <boost/asio/io_context.hpp>\n")
        (found,) = self.found_in("pipeline/flow/driver.hpp", '#include "io/source.hpp"\n')
        self.assertEqual(found, "includes Asio: pipeline/flow/driver.hpp -> io/source.hpp")

    def test_a_folder_and_its_subfolders_may_include_each_other(self):
        (self.root / "pipeline/flow/inputs/b.hpp").write_text('#include "pipeline/flow/ring.hpp"\n')
        self.assertEqual(self.found_in("pipeline/flow/a.cpp", '#include "pipeline/flow/inputs/b.hpp"\n'), [])

    def test_every_spelling_of_an_include_is_checked(self):
        for line in ("#include <io/source.hpp>", "  #  include\t\"io/source.hpp\"", '#include "../../io/source.hpp"'):
            with self.subTest(line=line):
                self.assertEqual(len(self.found_in("gpu/cuda/a.hpp", line + "\n")), 1)

    def test_no_folder_of_the_program_includes_the_tests(self):
        self.assertEqual(len(self.found_in("pipeline/flow/a.cpp", '#include "tests/support/fake.hpp"\n')), 1)

    def test_the_namespace_is_the_folder_except_in_forward_declarations(self):
        allowed = "namespace gpuhist::report {\n}\nnamespace gpuhist::report::units {\nint a;\n}\nnamespace gpuhist::io {\nclass b;\n}\n"
        self.assertEqual(self.found_in("report/a.hpp", allowed), [])
        for other in ("gpuhist", "gpuhist::io", "gpuhist::reports"):
            with self.subTest(other=other):
                (found,) = self.found_in("report/a.hpp", f"\nnamespace {other} {{\nclass b {{}};\n}}\n")
                self.assertEqual(found, f"report/a.hpp:2: the namespace is the folder, not {other}")


if __name__ == "__main__":
    unittest.main()
