"""Workflows, recipes and metadata of a release agree with each other, and with the manifests."""

import gzip
import io
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
sys.path.insert(0, str(ROOT / "packaging"))

import build_archive  # noqa: E402


def manifest(path: str) -> dict:
    return tomllib.loads((ROOT / path).read_text())


WORKSPACE = manifest("Cargo.toml")["workspace"]["package"]
PROJECT = manifest("pyproject.toml")["project"]
BINSTALL = manifest("crates/cli/Cargo.toml")["package"]["metadata"]["binstall"]
RELEASE = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())
JOBS = RELEASE["jobs"]
CONTAINERFILE = (ROOT / "packaging/Containerfile").read_text()
CONDA = yaml.safe_load((ROOT / "packaging/conda/recipe.yaml").read_text())
TARGETS = [entry["target"] for entry in JOBS["binary"]["strategy"]["matrix"]["include"]]

# What jobs may do besides reading the repository.
WRITES = {
    "sign": {"attestations", "id-token"},
    "pypi": {"id-token"},
    "crates-io": {"id-token"},
    "container": {"attestations", "id-token", "packages"},
    "github": {"contents"},
}


def commands(job: dict) -> str:
    return "\n".join(step.get("run", "") for step in job["steps"])


def needed(job: str) -> set[str]:
    """All jobs that end before ``job`` starts."""
    direct = JOBS[job].get("needs", [])
    direct = {direct} if isinstance(direct, str) else {*direct}
    return direct.union(*map(needed, direct))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_and_jobs_have_least_permissions(path: Path) -> None:
    text = path.read_text()
    uses = re.findall(r"^ *(?:- )?uses: (.*)$", text, re.MULTILINE)
    assert uses
    for used in uses:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", used), used
    # One version of an action in all workflows.
    everywhere = {used for other in WORKFLOWS for used in re.findall(r"uses: (.*)$", other.read_text(), re.MULTILINE)}
    assert len({used.partition("@")[0] for used in everywhere}) == len(everywhere), sorted(everywhere)

    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {}
    assert "secrets." not in text
    for name, job in workflow["jobs"].items():
        assert job["timeout-minutes"] <= 60, name
        assert {scope for scope, level in job["permissions"].items() if level == "write"} == (WRITES.get(name, set()) if path.name == "release.yml" else set())
        checkouts = [step for step in job["steps"] if "actions/checkout" in step.get("uses", "")]
        assert all(step["with"]["persist-credentials"] is False for step in checkouts), name
        assert ("contents" in job["permissions"]) == bool(checkouts), name
        # An expression in a script would be pasted into it: values come by the environment.
        assert "${{" not in commands(job), name


def test_only_tags_publish_and_only_what_was_tried() -> None:
    assert JOBS["plan"]["permissions"] == {"contents": "read"}
    for name in ("pypi", "crates-io", "container", "github"):
        assert "needs.plan.outputs.publish == 'true'" in JOBS[name]["if"], name
        assert needed(name) >= {"plan", "wheel", "sdist", "binary", "deb", "sbom", "sign"}, name
    assert needed("github") == JOBS.keys() - {"github"}
    # Trusted publishers name the workflow and these environments.
    assert {name: job["environment"] for name, job in JOBS.items() if "environment" in job} == {"pypi": "pypi", "crates-io": "crates-io"}
    assert "needs.plan.outputs.crates == 'true'" in JOBS["crates-io"]["if"]
    excluded = {name.removeprefix("timeplane-") for name in re.findall(r"--exclude (\S+)", commands(JOBS["crates-io"]))}
    assert {(ROOT / "crates" / name).is_dir() for name in excluded} == {True}
    assert not {"cli", "sim"} & excluded


def test_versions_agree() -> None:
    version = WORKSPACE["version"]
    locked = {package["version"] for package in manifest("Cargo.lock")["package"] if package["name"].startswith("timeplane-")}
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {version} == locked == {citation["version"], CONDA["context"]["version"], build_archive.version()}
    assert "version" in PROJECT["dynamic"] and CONDA["package"]["version"] == "${{ version }}"
    assert "inherit (workspace) version;" in (ROOT / "packaging/nix/package.nix").read_text()


def test_licenses_agree() -> None:
    spdx = WORKSPACE["license"]
    assert spdx == PROJECT["license"] == CONDA["about"]["license"]
    assert f'org.opencontainers.image.licenses="{spdx}"' in CONTAINERFILE
    assert re.search(r"asl20\s+mit", (ROOT / "packaging/nix/package.nix").read_text())
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["license"] == spdx.split(" OR ")
    # Archives and the image have the files that wheels have.
    assert list(build_archive.LICENSES) == PROJECT["license-files"]
    assert " ".join(PROJECT["license-files"]) in CONTAINERFILE


def test_descriptions_agree() -> None:
    description = PROJECT["description"]
    assert CONDA["about"]["summary"] == description
    for path in ("packaging/Containerfile", "packaging/nix/package.nix", "flake.nix"):
        assert f'"{description}"' in (ROOT / path).read_text(), path


def test_versions_of_python_and_of_the_compiler_agree() -> None:
    (python,) = re.findall(r"^>=(\d+\.\d+)$", PROJECT["requires-python"])
    assert CONDA["context"]["python_min"] == python
    # Wheels are tried with the oldest Python. Debian 12 has the same.
    assert f"library/python:{python}-alpine" in commands(JOBS["wheel"])
    assert f"abi3-py{python.replace('.', '')}" in manifest("Cargo.toml")["workspace"]["dependencies"]["pyo3"]["features"]
    assert set(PROJECT["dependencies"]) == {name.replace(" ", "") for name in CONDA["requirements"]["run"][1:]}
    (maturin,) = manifest("pyproject.toml")["build-system"]["requires"]
    assert maturin in {name.replace(" ", "") for name in CONDA["requirements"]["host"]}

    compiler = manifest("rust-toolchain.toml")["toolchain"]["channel"]
    assert f"library/rust:{compiler}-alpine AS build" in CONTAINERFILE
    assert f"library/rust:{compiler}-bookworm" in commands(JOBS["deb"])
    numbers = lambda version: tuple(map(int, version.split(".")))
    assert numbers(WORKSPACE["rust-version"]) <= numbers(compiler)
    readme = (ROOT / "README.md").read_text()
    assert f"Rust {WORKSPACE['rust-version']} or newer" in readme and f"Python {python} or newer" in readme


def test_binstall_finds_the_archives_of_the_workflow() -> None:
    hosts = {target.replace("-linux-musl", "-linux-gnu") for target in TARGETS} | {*TARGETS}
    assert BINSTALL["overrides"].keys() <= hosts
    for host in sorted(hosts):
        settings = {key: value for key, value in BINSTALL.items() if key != "overrides"} | BINSTALL["overrides"].get(host, {})
        values = {
            "repo": WORKSPACE["repository"],
            "version": WORKSPACE["version"],
            "target": host,
            "bin": "timeplane",
            "binary-ext": ".exe" if "windows" in host else "",
        }
        fill = lambda template: re.sub(r"\{ ([a-z-]+) \}", lambda found: values[found[1]], template)
        target = host.replace("-linux-gnu", "-linux-musl")
        archive = build_archive.archive_name(target)
        assert fill(settings["pkg-url"]) == f"{WORKSPACE['repository']}/releases/download/v{WORKSPACE['version']}/{archive}"
        assert fill(settings["bin-dir"]) == f"{build_archive.folder_name(target)}/{build_archive.program_name(target)}"
        assert {"tgz": ".tar.gz", "zip": ".zip"}[settings["pkg-fmt"]] == archive.removeprefix(build_archive.folder_name(target))


@pytest.mark.parametrize("target", TARGETS)
def test_an_archive_has_the_program_and_is_the_same_each_time(target: str, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF and so on")
    archive = build_archive.pack(target, program, tmp_path / "dist", 1_700_000_000)
    content = archive.read_bytes()
    assert build_archive.pack(target, program, tmp_path / "again", 1_700_000_000).read_bytes() == content
    folder = build_archive.folder_name(target)
    first = f"{folder}/{build_archive.program_name(target)}"
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as zipped:
            names, packed, mode = zipped.namelist(), zipped.read(first), zipped.getinfo(first).external_attr >> 16
    else:
        with tarfile.open(fileobj=io.BytesIO(gzip.decompress(content))) as tar:
            names, packed, mode = tar.getnames(), tar.extractfile(first).read(), tar.getmember(first).mode
    assert packed == program.read_bytes() and mode & 0o777 == 0o755
    assert {f"{folder}/licenses/LICENSE-MIT", f"{folder}/licenses/LICENSE-APACHE", f"{folder}/licenses/data/README.md"} < set(names)
    assert any(name.startswith(f"{folder}/licenses/viewer/vendor/") for name in names)


def test_the_image_takes_the_static_archives() -> None:
    script = commands(JOBS["container"])
    pairs = dict(re.findall(r"(amd64|arm64):(\w+)", script))
    assert {f"{cpu}-unknown-linux-musl" for cpu in pairs.values()} == {target for target in TARGETS if target.endswith("-musl")}
    assert "timeplane-$VERSION-${pair#*:}-unknown-linux-musl" in script
    assert f"--platform {','.join(f'linux/{name}' for name in pairs)}" in script
    # The folder that stands for the stage `build` has what the last stage copies.
    assert "--build-context build=root" in script and "AS build" in CONTAINERFILE
    assert re.findall(r"COPY --from=build (?:--chown=\S+ )?(\S+)", CONTAINERFILE) == ["/$TARGETARCH/licenses", "/$TARGETARCH/timeplane", "/work"]
    last = CONTAINERFILE.partition("FROM scratch\n")[2]
    assert re.search(r"^USER [1-9]\d*:[1-9]\d*$", last, re.MULTILINE)
    labels = {*re.findall(r"org\.opencontainers\.image\.(\w+)=", last)}
    assert labels >= {"title", "description", "source", "documentation", "licenses", "version", "revision", "created"}


def test_only_the_debian_package_compiles_the_daemons() -> None:
    daemons = re.compile(r"timeplane-(?:live|lab)\b|build-deb|--workspace|--all\b")
    assert [name for name in ("wheel", "sdist", "binary", "deb") if daemons.search(commands(JOBS[name]))] == ["deb"]
    assert {"timeplane-live", "timeplane-lab"}.isdisjoint(manifest("crates/py/Cargo.toml")["dependencies"])
    assert {"timeplane-live", "timeplane-lab"}.isdisjoint(manifest("crates/cli/Cargo.toml")["dependencies"])


def test_text_of_a_release_is_its_section_of_the_changelog(tmp_path: Path) -> None:
    (tmp_path / "packaging").mkdir()
    script = tmp_path / "packaging" / "notes.sh"
    script.write_text((ROOT / "packaging/notes.sh").read_text())
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2027-01-31\n\n### Added\n\n- One.\n\n## [0.1.0]\n\nOld.\n")
    notes = lambda version: subprocess.run(["bash", script, version], capture_output=True, text=True, check=False)
    assert notes("0.2.0").stdout == "### Added\n\n- One.\n"
    for version in ("0.1.0", "0.2", "0x2.0"):
        assert notes(version).returncode == 1 and "expected a section" in notes(version).stderr
