"""Print the requirements of the package and some of its extras, one per line, for `pip install -r`.

    python python/tools/requirements.py dev docs

The package itself is left out, because pip would build it.
"""

import sys
import tomllib
from pathlib import Path

with (Path(__file__).parents[2] / "pyproject.toml").open("rb") as file:
    project = tomllib.load(file)["project"]
print(*project["dependencies"], sep="\n")
for extra in sys.argv[1:]:
    print(*project["optional-dependencies"][extra], sep="\n")
