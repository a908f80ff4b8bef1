"""The page of a controller at work, in a browser, against a lab of real daemons. Needs Chromium,
root, and the program ``timeplane-lab``.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

#: Four hosts at 20 Mb/s, in slots that do without real-time priority; flows that last for longer
#: than a test looks.
SCENARIO = """
description = "A lab to look at"
[fabric]
topology.single_switch.hosts = 4
rate = "20 Mb/s"
[workload.flows]
file = "flows.csv"
[scheme.slots]
transport.raw.header = "38 B"
[scheme.slots.plan.tdma]
slot = "10 ms"
guard = "1 ms"
control_latency = "1 ms"
compute_time = "1 ms"
signals = { hold = "20 ms", reaction.times = { off_least = "1 us", off_most = "100 us", on_least = "10 us", on_most = "150 us" } }
"""
#: Who sends to whom.
PAIRS = {(0, 1), (1, 0), (2, 3), (3, 2), (0, 2)}
#: Only what fails takes so long.
PATIENCE = 60
#: Which of the hosts is killed.
KILLED = 3


def program() -> Path:
    """``timeplane-lab``: as the Rust tests have built it, or as it is installed."""
    built = Path(__file__).parents[2] / "target" / "debug" / "timeplane-lab"
    found = built if built.is_file() else shutil.which("timeplane-lab")
    if found is None:
        pytest.fail(f"there is no timeplane-lab, neither at {built} nor in PATH: `cargo build --workspace` makes it")
    return Path(found)


class Lab:
    """A lab with a page, whose run begins when the page is opened."""

    def __init__(self, directory: Path, name: str) -> None:
        (directory / "flows.csv").write_text("start_ps,source,destination,size_bytes\n" + "".join(f"0,{s},{d},200000000\n" for s, d in sorted(PAIRS)))
        file = directory / "look.toml"
        file.write_text(SCENARIO)
        self.name = f"{name}{os.getpid()}"
        command = [program(), "lab", file, "--results", directory / "results", "--name", self.name, "--no-real-time", "--keep", "--page", "0"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.address, self.token = self.said(r"page: (http://127\.0\.0\.1:\d+/)#([0-9a-f]{64})$")
        self.said("the run starts when a browser has opened the page")

    def _read(self) -> None:
        for line in self.process.stderr:
            self.lines.append(line.rstrip("\n"))

    def said(self, pattern: str) -> tuple[str, ...]:
        """Waits for a line; its groups."""
        end = time.monotonic() + PATIENCE
        while True:
            for line in list(self.lines):
                if found := re.search(pattern, line):
                    return found.groups()
            assert time.monotonic() < end and self.process.poll() is None, f"{pattern}: {self.lines}"
            time.sleep(0.02)

    def get(self, path: str, token: str | None = None, host: str | None = None) -> tuple[int, str]:
        """What the page's server answers: status and text."""
        request = urllib.request.Request(self.address + path)
        if token is not None:
            request.add_header("Authorization", f"Bearer {token}")
        if host is not None:
            request.add_header("Host", host)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def metric(self, name: str) -> float:
        status, text = self.get("metrics", self.token)
        assert status == 200, text
        return next(float(line.split(" ")[1]) for line in text.splitlines() if line.startswith(f"timeplane_{name} "))

    def kill_agent(self, host: int) -> None:
        """As a crash does: what runs in the namespace of this host of ours."""
        pids = subprocess.run(["ip", "netns", "pids", f"{self.name}-h{host}"], check=True, capture_output=True, text=True).stdout.split()
        assert len(pids) == 1, pids
        os.kill(int(pids[0]), signal.SIGKILL)

    def end(self) -> Path | None:
        """Interrupts it, and waits; where it has kept what its controller wrote down."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._reader.join(PATIENCE)
        self.process.stderr.close()
        kept = [found[1] for line in self.lines if (found := re.match(r"kept: (.*)$", line))]
        return Path(kept[0]) if kept else None


@pytest.fixture
def lab(tmp_path, request):
    if os.geteuid() != 0:
        pytest.fail("a lab makes network namespaces: run this test as root")
    lab = Lab(tmp_path, "tppage")
    yield lab
    kept = lab.end()
    if kept:
        shutil.rmtree(kept.parent, ignore_errors=True)


class Look:
    """The page in a browser, with all that it asks for and says."""

    def __init__(self, browser, address: str, **context) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}} | context)
        self.page = self.context.new_page()
        self.requests: list[str] = []
        self.said: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.goto(address, timeout=PATIENCE * 1_000)

    def until(self, holds: str) -> None:
        """Waits until an expression is true."""
        end = time.monotonic() + PATIENCE
        while not self.page.evaluate(holds):
            assert time.monotonic() < end, f"{holds}: {self.page.text_content('main')[:2000]} {self.said}"
            time.sleep(0.05)

    def slots(self) -> list[tuple]:
        """Those of the chart: round, slot, and who sends to whom."""
        return [
            (round_, slot, tuple(map(tuple, pairs)))
            for round_, slot, pairs in self.page.evaluate(
                """() => {
                    const chart = timeplane.charts.schedule;
                    return chart.numbers.map(([round, slot], i) => {
                        const [from, until] = chart.range(i);
                        const pairs = [];
                        for (let bar = from; bar < until; bar += 1) pairs.push([chart.bars.lane.values[bar], chart.bars.kind.values[bar]]);
                        return [round, slot, pairs];
                    });
                }"""
            )
        ]


@pytest.fixture
def look(browser):
    looks = []

    def open_(address: str, **context) -> Look:
        looks.append(Look(browser, address, **context))
        return looks[-1]

    yield open_
    for one in looks:
        one.context.close()


def shots() -> Path | None:
    """Where pictures go for people who look at them: a folder that the environment names."""
    folder = os.environ.get("TIMEPLANE_SCREENSHOTS")
    return Path(folder) if folder else None


def test_slots_appear_and_a_killed_agent_is_silent(lab, look):
    page = look(f"{lab.address}#{lab.token}")
    page.until("timeplane.state === 'connected'")
    assert page.page.url == lab.address, "the token does not stay in the address"
    page.until("timeplane.slots > 0")
    before = page.page.evaluate("timeplane.slots")
    page.until(f"timeplane.slots > {before + 60}")
    # What waits is what the scenario's flows have to send, and nothing else.
    waits = "JSON.stringify(timeplane.demand.flatMap((row, from) => [...row].map(([to]) => [from, to])))"
    expected = json.dumps(sorted(PAIRS), separators=(",", ":"))
    page.until(f"{waits} === '{expected}'")
    assert {pair for _, _, pairs in page.slots() for pair in pairs} <= PAIRS
    page.until("[...timeplane.hosts.values()].length === 4 && [...timeplane.hosts.values()].every((h) => h.state === 'joined')")
    assert page.page.text_content("#silent") == ""
    # Agents and an observer tell what only they know.
    page.until("[0, 1, 2, 3].every((h) => timeplane.hosts.get(h).fill > 0)")
    page.until("timeplane.observed?.frames > 0")
    assert re.search(r"violations\d+ of [\d,]+ frames", page.page.text_content("#lag"))
    shown = page.page.evaluate("timeplane.slots")
    assert lab.metric("controller_slots_total") >= shown
    assert lab.metric("controller_pages") == 1

    # The chart follows what is planned, until somebody goes back in it.
    view = "timeplane.charts.schedule.view"
    assert page.page.evaluate(f"{view}.to === timeplane.charts.schedule.extent[1]")
    page.page.locator("#schedule canvas").focus()
    page.page.keyboard.press("ArrowLeft")
    stays = page.page.evaluate(f"{view}.to")
    last = page.page.evaluate("timeplane.slots")
    page.until(f"timeplane.slots > {last + 10}")
    assert page.page.evaluate(f"{view}.to") == stays
    page.page.locator("#schedule button", has_text="Follow").click()
    assert page.page.evaluate(f"{view}.to === timeplane.charts.schedule.extent[1]")
    page.page.keyboard.press("ArrowDown")
    page.page.locator("#schedule canvas").focus()
    page.page.keyboard.press("ArrowDown")
    assert "host " in page.page.text_content("#schedule .status")
    page.page.locator("#demand canvas").focus()
    page.page.keyboard.press("ArrowRight")
    assert page.page.text_content("#demand .status").startswith("host 0 to host 1: ")
    page.page.locator("#schedule details.behind summary").click()
    page.page.locator("#schedule details.behind tbody tr").first.wait_for()

    lab.kill_agent(KILLED)
    page.until(f"timeplane.hosts.get({KILLED}).state === 'silent'")
    assert re.fullmatch(rf"Silent: host {KILLED} since \d\d:\d\d:\d\d\.", page.page.text_content("#silent"))
    assert page.page.get_attribute("#silent", "aria-live") == "polite"
    row = page.page.locator("#hosts tbody tr").nth(KILLED)
    assert "silent since" in row.text_content()
    page.until(f"timeplane.demand[{KILLED}].size === 0")
    # Nobody gives it slots any more, and others go on.
    gone = page.page.evaluate("timeplane.slots")
    page.until(f"timeplane.slots > {gone + 100}")
    assert all(KILLED not in pair for _, _, pairs in page.slots()[-40:] for pair in pairs)
    assert any(pair == (0, 1) for _, _, pairs in page.slots()[-40:] for pair in pairs)

    assert page.said == []
    assert {url.removeprefix(lab.address) for url in page.requests} <= {"", f"#{lab.token}", "events"}
    counts = page.page.evaluate("[timeplane.slots, timeplane.charts.schedule.slots.begin.length, timeplane.charts.schedule.numbers.length]")
    assert len(set(counts)) == 1, "none is forgotten yet"
    shown = page.slots()
    kept = lab.end()
    # The controller ends, and says goodbye to nobody.
    page.until("timeplane.state === 'gone'")
    assert "gone" in page.page.text_content("#state") and "reconnecting" in page.page.text_content("#state")
    page.until("document.getElementById('heard').textContent.startsWith('Last heard ')")
    # What was shown is what the controller has written down, one after the other.
    written = [json.loads(line) for line in (kept / "controller-0" / "slots.jsonl").read_text().splitlines()]
    written = [(slot["round"], slot["slot"], tuple(map(tuple, slot["pairs"]))) for slot in written]
    begin = written.index(shown[0])
    assert written[begin : begin + len(shown)] == shown


def test_light_dark_narrow_and_who_may_look(lab, look):
    # The page is for everybody on this machine, what it shows is not; and it has one name.
    assert lab.get("")[0] == 200 and lab.get("events")[0] == 401 and lab.get("events", "0" * 64)[0] == 401
    assert lab.get("", host="example.com")[0] == 421
    asked = look(lab.address)
    asked.until("document.getElementById('token-field')")
    assert "needs the controller's token" in asked.page.text_content("#state")
    asked.page.fill("#token-field", "f" * 64)
    asked.page.keyboard.press("Enter")
    asked.until("timeplane.state === 'refused'")
    asked.page.fill("#token-field", lab.token)
    asked.page.locator("#token button").click()
    asked.until("timeplane.state === 'connected'")
    # Loaded again, it knows the token still; all that it knew comes again.
    asked.page.reload()
    asked.until("timeplane.state === 'connected' && timeplane.slots > 0")

    grounds = {}
    for scheme in ("light", "dark"):
        for width in (1280, 400):
            page = look(f"{lab.address}#{lab.token}", color_scheme=scheme, viewport={"width": width, "height": 900})
            page.until("timeplane.slots > 60 && timeplane.observed && timeplane.hosts.get(0)?.fill > 0")
            assert page.page.evaluate("document.documentElement.scrollWidth") <= width, f"{scheme}, {width}"
            grounds[scheme, width] = page.page.evaluate("getComputedStyle(document.body).backgroundColor")
            if shots():
                page.page.screenshot(path=shots() / f"live-{scheme}-{width}.png", full_page=True)
            assert page.said == []
    light, dark = "rgb(255, 255, 255)", "rgb(20, 22, 26)"
    assert grounds == {("light", 1280): light, ("light", 400): light, ("dark", 1280): dark, ("dark", 400): dark}
    if shots():
        lab.kill_agent(KILLED)
        page.until(f"timeplane.hosts.get({KILLED}).state === 'silent'")
        page.page.screenshot(path=shots() / "live-silent-400.png", full_page=True)
        lab.end()
        page.until("timeplane.state === 'gone'")
        page.page.screenshot(path=shots() / "live-gone-400.png")
