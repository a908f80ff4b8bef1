"""Running: interrupts, other threads, progress, the command."""

import io
import itertools
import json
import signal
import subprocess
import sys
import threading
import time

import pytest
from jupyter_client import run_kernel

import timeplane as tp
from timeplane._progress import Bar

# Runs for minutes if it is let.
LONG = """
import sys, timeplane as tp
scenario = tp.Scenario(
    name="long",
    fabric=tp.Fabric(topology=tp.SingleSwitch(hosts=16), rate="100 Gb/s"),
    workload=tp.Poisson(load=0.6, sizes=tp.Fixed("100 kB")),
    window=tp.Window(measure="10 s", drain="1 ms"),
    scheme={"plain": tp.Scheme(transport=tp.Tcp())},
)
def tell(progress):
    if progress.events > 0:
        print("running", flush=True)
try:
    scenario.run(results=sys.argv[1], progress=tell)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    raise
"""


def test_an_interrupt_ends_it_soon(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", LONG, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "running\n"
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=20)
    assert time.monotonic() - begin < 5
    assert output.endswith("interrupted\n") and "KeyboardInterrupt" in errors
    assert process.returncode == -signal.SIGINT
    # Nothing half-done is left behind.
    assert list((tmp_path / "long" / "runs").iterdir()) == []


def test_other_threads_go_on(make):
    ticks, over = [], threading.Event()

    def tick():
        while not over.wait(0.005):
            ticks.append(time.monotonic())

    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.monotonic()
    make(workload=tp.Shuffle(bytes="40 MB")).run(jobs=1, results=None)
    took = time.monotonic() - begin
    over.set()
    thread.join()
    during = [t for t in ticks if t < begin + took]
    assert took > 0.05 and len(during) > took / 0.005 / 10


def test_progress_is_told(make):
    told = []
    make().run(results=None, progress=told.append)
    assert told[-1].fraction == 1.0 and (told[-1].done, told[-1].total, told[-1].cached) == (4, 4, 0)
    assert told[-1].events > 0 and all(a.elapsed <= b.elapsed for a, b in itertools.pairwise(told))


def test_an_exception_of_the_callback_ends_it(make, tmp_path):
    def fail(progress):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        make().run(results=tmp_path, progress=fail)


def test_the_line_on_stderr(make, capsys):
    make().run(results=None, progress=True)
    assert "100.0 %  4 of 4 runs" in capsys.readouterr().err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_has_a_bar_that_moves(make, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    make().run(results=None)
    shown = terminal.getvalue()
    assert shown.endswith("\n") and shown.count("\r") >= 1
    assert shown.rpartition("\r")[2].startswith(f"[{'#' * 20}] 100.0 %  4 of 4 runs")
    terminal.truncate(0)
    make().run(results=None, progress=False)
    assert terminal.getvalue() == ""
    bar = Bar(terminal)
    bar(tp.Progress(done=1, cached=0, total=4, events=5, remaining=150.0, elapsed=50.0))
    assert terminal.getvalue().lstrip("\0").rstrip() == "\r[#####---------------]  25.0 %  1 of 4 runs  2 min 30 s left"


def test_a_notebook_has_a_bar_that_is_gone_at_the_end(make):
    """The messages of a kernel, as a notebook gets them."""
    scenario = json.dumps(make().to_dict())
    code = f"import json, timeplane as tp\nresults = tp.Scenario.from_dict(json.loads({scenario!r})).run(results=None)"
    messages = []
    with run_kernel(kernel_name="python3") as client:
        client.execute_interactive(code, timeout=120, output_hook=messages.append)
    assert [m["content"] for m in messages if m["msg_type"] == "error"] == []
    shown = [m["content"]["data"]["text/html"] for m in messages if m["msg_type"] in ("display_data", "update_display_data")]
    assert "<progress" in shown[0] and "of 4 runs" in shown[0] and shown[-1] == ""


def test_complete_runs_are_not_run_again(make, tmp_path):
    make(seeds=1).run(results=tmp_path)
    told = []
    make(seeds=2).run(results=tmp_path, progress=told.append)
    assert (told[-1].done, told[-1].cached) == (4, 2)


def test_what_is_doubtful_is_a_warning(make):
    warned = make().validate()
    assert all(isinstance(issue, tp.Issue) for issue in warned)


def test_jobs_is_positive(make):
    with pytest.raises(ValueError, match="jobs"):
        make().run(jobs=0, results=None)


def test_the_command(tmp_path):
    run = lambda *a: subprocess.run([sys.executable, "-m", "timeplane", *a], capture_output=True, text=True, check=False)
    done = run("--version")
    assert (done.returncode, done.stdout.split()) == (0, ["timeplane", tp.__version__])
    done = run("study", "no-such-paper")
    assert done.returncode == 2 and "`no-such-paper`" in done.stderr
    done = run("run", str(tmp_path / "missing.toml"))
    assert done.returncode == 2 and "missing.toml" in done.stderr
