"""What no set of flyways is faster than, rack by rack."""

from __future__ import annotations

import numpy as np

#: Gb/s: an uplink, the hosts of a rack under 1:2, the fastest flyway.
UPLINK, HOSTS, FLYWAY = 10.0, 20.0, 6.75675


def bound(demand: np.ndarray, radios: int) -> float:
    """Least time over that without oversubscription, with ``radios`` for each rack and uplinks of 1:2.

    What a rack sends leaves it by its uplink or its flyways, what it receives comes by its downlink or its flyways, and both directions share
    the flyways. So each takes no less than its bytes over uplink and flyways, nor both together than theirs over uplink, downlink and flyways.
    """
    sent, received = demand.sum(1), demand.sum(0)
    air = radios * FLYWAY
    single = np.maximum(sent, received).max() / (UPLINK + air)
    both = (sent + received).max() / (2 * UPLINK + air)
    hosts = max(sent.max(), received.max()) / HOSTS
    return float(max(single, both, hosts) / hosts)
