"""What tests share."""

import shutil

import matplotlib
import pytest

import timeplane as tp

matplotlib.use("Agg")


def shuffle(**changes) -> tp.Scenario:
    """Six hosts, all to all: raw frames under slots, and TCP."""
    values = {
        "name": "shuffle",
        "seeds": 2,
        "fabric": tp.Fabric(topology=tp.SingleSwitch(hosts=6), rate="10 Gb/s", mtu="9000 B"),
        "workload": tp.Shuffle(bytes="2 MB", jitter="100 us"),
        "scheme": {
            "slots": tp.Scheme(transport=tp.Raw(), plan=tp.Tdma(slot="300 us", guard="15 us")),
            "cubic": tp.Scheme(transport=tp.Tcp(congestion="cubic")),
        },
    }
    return tp.Scenario(**(values | changes))


@pytest.fixture
def register():
    """Registers an algorithm as ``how`` does, and forgets it at the end."""
    names = []

    def register(how, name, algorithm):
        names.append(name)
        return how(name, algorithm)

    yield register
    for name in names:
        tp.unregister_scheduler(name)


@pytest.fixture(scope="session")
def results() -> tp.Results:
    """All runs of the shuffle, in a temporary folder."""
    return shuffle(record=tp.Record(queues_every="50 us")).run(results=None)


@pytest.fixture(scope="session")
def make():
    """Makes scenarios."""
    return shuffle


@pytest.fixture(scope="session")
def browser():
    """Debian's Chromium, or what others have in its place."""
    from playwright.sync_api import sync_playwright

    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        pytest.fail(f"no browser: none of {', '.join(names)} is installed; `bash install.sh` gets Debian's chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path)
        yield browser
        browser.close()
