"""What tests share."""

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
        "control": {
            "slots": tp.Control(transport=tp.Raw(), plan=tp.Slots(slot="300 us", guard="15 us")),
            "cubic": tp.Control(transport=tp.Tcp(congestion="cubic")),
        },
    }
    return tp.Scenario(**(values | changes))


@pytest.fixture(scope="session")
def results() -> tp.Results:
    """All runs of the shuffle, in a temporary folder."""
    return shuffle(record=tp.Record(queues_every="50 us")).run(results=None)


@pytest.fixture
def make():
    """Makes scenarios."""
    return shuffle
