"""Pack the command that Cargo has built into an archive: ``build_archive.py TARGET [FOLDER]``.

The archive has the program, the README, the changelog and a folder of licenses. Its name and layout are
those that ``package.metadata.binstall`` of ``crates/cli/Cargo.toml`` expects. The same program and
commit give the same bytes.
"""

import gzip
import io
import os
import subprocess
import sys
import tarfile
import time
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# As `license-files` of the wheel: the program, the viewer's library, and bundled data.
LICENSES = ("LICENSE-*", "viewer/vendor/*/LICENSE", "data/README.md", "data/radio/*/LICENSE")


def version() -> str:
    return tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]


def folder_name(target: str) -> str:
    return f"timeplane-{version()}-{target}"


def archive_name(target: str) -> str:
    return folder_name(target) + (".zip" if "windows" in target else ".tar.gz")


def program_name(target: str) -> str:
    return "timeplane.exe" if "windows" in target else "timeplane"


def pack(target: str, program: Path, out: Path, epoch: int) -> Path:
    """Write the archive of ``program`` into the folder ``out``; files get the time ``epoch``."""
    folder = folder_name(target)
    files = {f"{folder}/{program_name(target)}": (program, 0o755)}
    files |= {f"{folder}/{name}": (ROOT / name, 0o644) for name in ("README.md", "CHANGELOG.md")}
    for pattern in LICENSES:
        files |= {f"{folder}/licenses/{path.relative_to(ROOT).as_posix()}": (path, 0o644) for path in sorted(ROOT.glob(pattern))}
    out.mkdir(parents=True, exist_ok=True)
    archive = out / archive_name(target)
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as zipped:
            for name, (path, mode) in files.items():
                entry = zipfile.ZipInfo(name, time.gmtime(epoch)[:6])
                entry.external_attr = (0o100000 | mode) << 16
                zipped.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
        return archive
    # Without a name and with the time of the commit in the header of gzip, too.
    with archive.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=epoch) as zipped, tarfile.open(fileobj=zipped, mode="w") as tar:
        for name, (path, mode) in files.items():
            entry = tarfile.TarInfo(name)
            data = path.read_bytes()
            entry.size, entry.mode, entry.mtime = len(data), mode, epoch
            tar.addfile(entry, io.BytesIO(data))
    return archive


def main() -> None:
    if not 2 <= len(sys.argv) <= 3:
        sys.exit("usage: build_archive.py TARGET [FOLDER]")
    target, out = sys.argv[1], Path(sys.argv[2] if len(sys.argv) > 2 else "dist")
    built = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    commit = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=True)
    print(pack(target, built / target / "release" / program_name(target), out, int(os.environ.get("SOURCE_DATE_EPOCH", commit.stdout))))


if __name__ == "__main__":
    main()
