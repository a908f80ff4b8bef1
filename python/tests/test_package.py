"""What is in a package, and what its import costs."""

import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parents[2]


def python(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120).stdout


def test_nothing_is_imported_before_it_is_used() -> None:
    # Counted against an interpreter that imports nothing, as environments load things of their own.
    modules = "import sys; {}; print('\\n'.join(sys.modules))"
    new = set(python(modules.format("import timeplane")).split()) - set(python(modules.format("import importlib")).split())
    # The standard library's modules are slow, too: `typing` alone takes longer than these.
    assert new == {"__future__", "timeplane", "timeplane._core"}


def test_the_command_imports_no_more() -> None:
    program = "import sys; from timeplane.__main__ import main; main(['list', 'data']); print('numpy' in sys.modules, 'typing' in sys.modules)"
    assert python(program).endswith("False False\n")


def test_scenarios_and_results_need_no_numpy(tmp_path: Path) -> None:
    program = f"""
import sys, timeplane as tp
scenario = tp.Scenario(
    name="small",
    fabric=tp.Fabric(topology=tp.SingleSwitch(hosts=2), rate="10 Gb/s"),
    workload=tp.Shuffle(bytes="10 kB"),
    scheme={{"tcp": tp.Scheme(transport=tp.Tcp())}},
)
str(scenario.run(results={str(tmp_path)!r}))
print([m for m in ("numpy", "matplotlib", "polars", "pandas", "pyarrow") if m in sys.modules])
"""
    assert python(program) == "[]\n"


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a source distribution, by path."""
    folder = tmp_path_factory.mktemp("sdist")
    command = [Path(sys.executable).with_name("maturin"), "sdist", "--manifest-path", ROOT / "crates/py/Cargo.toml", "--out", folder]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, env=os.environ | {"CARGO_NET_OFFLINE": "true"})
    assert done.returncode == 0, done.stderr
    (archive,) = folder.glob("timeplane-*.tar.gz")
    with tarfile.open(archive) as tar:
        return {m.name.partition("/")[2]: tar.extractfile(m).read() for m in tar.getmembers() if m.isfile()}  # type: ignore[union-attr]


def test_a_source_distribution_has_what_crates_compile_in(sdist: dict[str, bytes]) -> None:
    for folder in ("data", "viewer", "crates/cli/templates"):
        wanted = {str(p.relative_to(ROOT)) for p in (ROOT / folder).rglob("*") if p.is_file()}
        assert wanted and wanted <= sdist.keys()
    compiled_in = set()
    for path, text in sdist.items():
        if not path.endswith(".rs") or "/tests/" in path:
            continue
        # A name whole, or the folder that a macro puts names behind; beside the file, or in its
        # crate.
        for crate, file in re.findall(r'include_(?:str|bytes)!\((?:concat!\()?(env!\("CARGO_MANIFEST_DIR"\), )?"([^"]+)"', text.decode()):
            origin = "/".join(path.split("/")[:2]) if crate else PurePosixPath(path).parent
            place = os.path.normpath(f"{origin}/{file}") + "/" * file.endswith("/")
            assert any(name == place or (place.endswith("/") and name.startswith(place)) for name in sdist), f"{path} compiles {place} in"
            compiled_in.add(place)
    # Each folder has some that were found, so that looking for them works.
    for folder in ("data/", "viewer/", "crates/cli/templates/"):
        assert any(place.startswith(folder) for place in compiled_in), compiled_in


def test_a_source_distribution_is_a_workspace_of_its_own(sdist: dict[str, bytes], tmp_path: Path) -> None:
    for path, content in sdist.items():
        place = tmp_path / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    # Cargo reads all manifests, and drops from the lock file what only crates need that are not
    # here.
    command = ["cargo", "tree", "--offline", "--package", "timeplane-py", "--edges", "normal", "--prefix", "none"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "timeplane-cli v" in done.stdout and "timeplane-lab" not in done.stdout
    versions = lambda text: set(re.findall(r'name = "([^"]+)"\nversion = "([^"]+)"', text))
    assert versions((tmp_path / "Cargo.lock").read_text()) <= versions((ROOT / "Cargo.lock").read_text())


def test_metadata_names_licences(sdist: dict[str, bytes]) -> None:
    lines = sdist["PKG-INFO"].decode().partition("\n\n")[0].splitlines()
    assert "License-Expression: Apache-2.0 OR MIT" in lines and "Requires-Python: >=3.11" in lines
    licences = {line.partition(": ")[2] for line in lines if line.startswith("License-File: ")}
    assert licences == {
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "data/README.md",
        "data/radio/mikrotik/LICENSE",
        "data/radio/nist-datacenter/LICENSE",
        "viewer/vendor/uplot-1.6.32/LICENSE",
    }
    assert licences <= sdist.keys()
    required = [line for line in lines if line.startswith("Requires-Dist: ") and "extra ==" not in line]
    assert required == ["Requires-Dist: numpy>=1.26"]
