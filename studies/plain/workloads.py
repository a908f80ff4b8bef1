"""Lists of flows: start (ps), source, destination, bytes. A seed varies starts and permutations."""

from __future__ import annotations

from random import Random

Row = tuple[int, int, int, int]

US = 10**6
MS = 10**9
S = 10**12

#: Longer than any run.
LONG = 10 * 10**9
#: The short transfers of DCTCP's figure 21.
CHUNK = 20_000
#: Time until long flows share the link, which measures leave out.
SETTLED = 2 * S
#: Time between two short transfers: more than one takes.
CHUNK_EVERY = 50 * MS
#: Bytes of a query of DCTCP's figure 18, over all servers.
QUERY = 1_000_000
#: Time between two queries: more than three timeouts in a row take with doubled intervals.
QUERY_EVERY = 3 * S


def long_flows(senders: int, hosts: int, seed: int) -> list[Row]:
    """Flows without end from some hosts to host 0, which start within 10 ms."""
    random = Random(f"long {senders} {seed}")
    return [(random.randrange(10 * MS), host, 0, LONG) for host in random.sample(range(1, hosts), senders)]


def short_beside_long(chunks: int, hosts: int, seed: int) -> list[Row]:
    """Two flows without end to host 0, and short transfers to it from a third host."""
    random = Random(f"short {seed}")
    long = long_flows(2, hosts, seed)
    third = random.choice(sorted(set(range(1, hosts)) - {source for _, source, _, _ in long}))
    start = (SETTLED + i * CHUNK_EVERY + random.randrange(10 * MS) for i in range(chunks))
    return long + [(at, third, 0, CHUNK) for at in start]


def queries(servers: int, hosts: int, count: int, seed: int) -> list[Row]:
    """Queries of host 0, each answered by an equal share of 1 MB from each server. Servers answer
    within 20 us.
    """
    random = Random(f"incast {servers} {seed}")
    of = random.sample(range(1, hosts), servers)
    return [(q * QUERY_EVERY + random.randrange(20 * US), server, 0, QUERY // servers) for q in range(count) for server in of]


def permutation(hosts: int, seed: int) -> list[Row]:
    """A flow without end from each host to another one: a permutation without fixed points."""
    random = Random(f"permutation {seed}")
    to = list(range(hosts))
    while any(i == t for i, t in enumerate(to)):
        random.shuffle(to)
    return [(random.randrange(10 * MS), i, t, LONG) for i, t in enumerate(to)]
