"""Damaged results end in an exception: no panic, no abort."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import timeplane as tp

#: Reads tables whose bytes are flipped one after the other, in a process of its own.
CHILD = """
import sys
from pathlib import Path

import polars as pl
import pyarrow as pa

import timeplane as tp

results = tp.Results.open(sys.argv[1])
step, refused = int(sys.argv[2]), 0
for name in ("flows", "drops", "slots"):
    path = Path(results.directory, "runs", results.runs[0].key, name + ".parquet")
    whole = path.read_bytes()
    for at in range(0, len(whole), step):
        flipped = bytearray(whole)
        flipped[at] ^= 0xFF
        path.write_bytes(flipped)
        table = results.runs[0].table(name)
        ways = (lambda: len(table), lambda: pa.table(table), lambda: pl.DataFrame(table), lambda: table[table.columns[-1]])
        for way in ways:
            try:
                way()
            except Exception as error:
                assert str(error), type(error)
                refused += 1
    path.write_bytes(whole)
print("refused", refused)
"""


@pytest.fixture
def stored(make, tmp_path):
    """A folder of results with one run."""
    make(name="stored", seeds=1, scheme={"slots": make().scheme["slots"]}).run(results=tmp_path)
    return tmp_path / "stored"


def run_folder(stored: Path) -> Path:
    (folder,) = (stored / "runs").iterdir()
    return folder


@pytest.mark.parametrize("name", ["flows.parquet", "slots.parquet", "summary.json"])
def test_a_damaged_run_is_refused_with_the_command_that_repeats_it(stored, name):
    file = run_folder(stored) / name
    whole = file.read_bytes()
    for change in (lambda: file.write_bytes(whole[:200] + bytes([whole[200] ^ 1]) + whole[201:]), file.unlink):
        change()
        with pytest.raises(tp.RunError, match=name) as error:
            tp.Results.open(stored)
        assert f"`timeplane run stored.toml --results {stored.parent}`" in str(error.value)
        file.write_bytes(whole)
    assert tp.Results.open(stored).is_complete


def test_a_damaged_run_is_repeated_with_a_warning(make, stored):
    file = run_folder(stored) / "flows.parquet"
    whole = file.read_bytes()
    file.write_bytes(whole[:-9])
    scenario = make(name="stored", seeds=1, scheme={"slots": make().scheme["slots"]})
    with pytest.warns(UserWarning, match="is run again: .*flows.parquet: it has"):
        scenario.run(results=stored.parent)
    assert file.read_bytes() == whole


def test_no_flipped_byte_of_a_table_without_a_digest_ends_python(stored):
    # Layout 3 has no digests.
    summary = run_folder(stored) / "summary.json"
    values = json.loads(summary.read_text())
    for field in ("run", "files", "digest"):
        del values[field]
    summary.write_text(json.dumps(values))
    manifest = stored / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"format": 3}))
    assert pa.table(tp.Results.open(stored).flows).num_rows == 30
    child = subprocess.run([sys.executable, "-c", CHILD, stored, "29"], capture_output=True, text=True, check=False)
    assert child.returncode == 0 and "refused" in child.stdout, child.stderr
    assert "panicked" not in child.stderr, child.stderr
    assert int(child.stdout.split()[-1]) > 10


def test_texts_of_files_cannot_control_a_terminal(make, tmp_path):
    name = "tcp\x1b[2J\x07\r\x9b31m\u202e"
    scenario = make(seeds=1, scheme={name: tp.Scheme(transport=tp.Tcp())})
    results = scenario.run(results=tmp_path)
    for text in (repr(results), repr(results.runs[0]), str(results), repr(results.flows)):
        assert not any(c in text for c in name[3:] if not c.isprintable()), text
    assert results.schemes == [name]
    shutil.rmtree(tmp_path / "shuffle")
