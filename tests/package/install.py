"""install.py: installs the build into an empty folder, for the suites of this folder."""

import shutil

from installed import BUILD, CMAKE, PREFIX, command

shutil.rmtree(PREFIX, ignore_errors=True)
print(command(CMAKE, "--install", BUILD, "--prefix", PREFIX).stdout)
