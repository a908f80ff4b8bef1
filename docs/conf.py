"""The documentation: MyST-NB, built by ``bash docs/build.sh`` with warnings as errors and without a network."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))

import timeplane  # noqa: E402

project = "timeplane"
author = "the timeplane authors"
copyright = "the timeplane authors, Apache-2.0 or MIT"
version = release = timeplane.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx_copybutton", "reference"]
exclude_patterns = ["_build", "_ext", "**.ipynb_checkpoints"]

# Runs every code cell in a folder of its own; a cell that fails also fails the build.
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_execution_timeout = 120
nb_merge_streams = True
os.environ["TIMEPLANE_DOCS_CLONE"] = str(HERE.parent)
os.environ["PYTHONPATH"] = str(HERE / "_ext")
# Silences a warning of the debugger about frozen modules.
os.environ |= {"PYDEVD_DISABLE_FILE_VALIDATION": "1"}

myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "undoc-members": False}
add_module_names = False
# Single backticks are code, in Rust as in Markdown.
default_role = "code"
# A type `bytes` in a signature is Python's, even if a field has that name.
suppress_warnings = ["ref.python"]
toc_object_entries = False

html_theme = "furo"
html_title = "timeplane"
html_static_path = ["_static"]
html_css_files = ["timeplane.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
# The theme's own files only: no font, script or picture from elsewhere.
html_theme_options = {"navigation_with_keys": True}
# What a reader types or saves; what a command prints has no button.
copybutton_selector = ", ".join(f"div.highlight-{language} pre" for language in ("sh", "toml", "python", "rust", "ipython3"))
pygments_style = "friendly"
pygments_dark_style = "monokai"
