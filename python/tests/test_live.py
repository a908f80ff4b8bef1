"""The client of an agent, against an agent that says what a test wants."""

import contextlib
import json
import socket
import threading

import pytest

from timeplane import live

#: More than sockets hold.
LONG = bytes(i % 251 for i in range(3_000_000))
OK = b'{"ok": {}}\n'
#: Only what fails takes so long.
PATIENCE = 30


class Fake:
    """An agent for one connection: what it was asked, and what the test's function makes of the
    rest.
    """

    def __init__(self, path, behave):
        self.agent = live.Agent(path, timeout=PATIENCE)
        self.asked = self.result = self.error = None
        self._behave = behave
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self._listener.settimeout(PATIENCE)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        try:
            connection, _ = self._listener.accept()
            with self._listener, connection:
                connection.settimeout(PATIENCE)
                line = b""
                while not line.endswith(b"\n"):
                    line += connection.recv(1)
                self.asked = json.loads(line)
                self.result = self._behave(connection)
        except Exception as e:
            self.error = e

    def end(self):
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        if self.error is not None:
            raise self.error
        return self.result


@pytest.fixture
def fake(tmp_path, monkeypatch):
    # Paths of sockets are short, and those of tests may be long.
    monkeypatch.chdir(tmp_path)
    fakes = []

    def make(behave):
        fakes.append(Fake(f"agent-{len(fakes)}", behave))
        return fakes[-1]

    yield make
    for one in fakes:
        one._thread.join(PATIENCE)


def everything(connection):
    parts = []
    while data := connection.recv(1 << 16):
        parts.append(data)
    return b"".join(parts)


def take(connection):
    """An agent that delivers."""
    connection.sendall(b'{"ok": {"stream": 1}}\n')
    data = everything(connection)
    connection.sendall(b'{"delivered": %d}\n' % len(data))
    return data


def give(*parts):
    """An agent that says this."""

    def behave(connection):
        for part in parts:
            connection.sendall(part)

    return behave


def receive(fake):
    with fake.agent.receive() as stream:
        return stream.read()


@pytest.mark.parametrize("length", [None, len(LONG)])
def test_a_stream_is_sent_and_delivered(fake, length):
    one = fake(take)
    with one.agent.send(3, port=7, length=length) as stream:
        assert stream.delivered is None
        assert stream.write(LONG[:10]) == 10
        stream.sendall(memoryview(LONG)[10:])
    assert stream.delivered == stream.written == len(LONG)
    assert one.end() == LONG
    assert one.asked == {"send": {"to": 3, "port": 7, "length": length}}
    stream.close()
    with pytest.raises(ValueError, match="closed"):
        stream.write(b"more")


def test_an_empty_stream_is_one(fake):
    one = fake(take)
    with one.agent.send(3, length=0) as stream:
        pass
    assert stream.delivered == 0
    assert one.end() == b""


@pytest.mark.parametrize("length", [None, len(LONG)])
def test_a_stream_is_received(fake, length):
    # Bytes come with the lines, as they may.
    head = OK + json.dumps({"from": 5, "length": length}).encode() + b"\n" + LONG[:100]
    one = fake(give(head, LONG[100:]))
    with one.agent.receive(port=9) as stream:
        assert (stream.source, stream.length) == (5, length)
        assert stream.read(3) == LONG[:3]
        buffer = bytearray(5)
        assert stream.recv_into(buffer) == 5
        assert buffer == LONG[3:8]
        assert stream.recv(2) == LONG[8:10]
        rest = b"".join(stream)
        assert stream.recv(1) == b""
    assert rest == LONG[10:]
    one.end()
    assert one.asked == {"receive": {"port": 9}}


def test_read_takes_all(fake):
    one = fake(give(OK, b'{"from": 0, "length": null}\n', LONG))
    assert receive(one) == LONG


def test_what_the_agent_says_against_it_is_told(fake):
    with pytest.raises(live.AgentError, match="the agent says: host 99 is not in the fabric"):
        fake(give(b'{"error": "host 99 is not in the fabric"}\n')).agent.send(99)

    def at_the_end(connection):
        connection.sendall(OK)
        everything(connection)
        connection.sendall(b'{"error": "host 3 is gone"}\n')

    stream = fake(at_the_end).agent.send(3)
    stream.write(b"some")
    with pytest.raises(live.AgentError, match="host 3 is gone"):
        stream.close()
    assert stream.delivered is None

    def in_the_middle(connection):
        connection.sendall(OK)
        connection.recv(1000)
        connection.sendall(b'{"error": "host 3 is gone"}\n')

    stream = fake(in_the_middle).agent.send(3)
    # Where the agent leaves bytes unread the system forgets what it said.
    with pytest.raises(live.AgentError, match=r"host 3 is gone|the agent has gone"):
        for _ in range(100):
            stream.write(LONG)


def test_an_agent_that_dies_is_no_success(fake):
    with pytest.raises(live.AgentError, match="has gone before it took"):
        fake(give()).agent.send(3)

    def dies(last):
        def behave(connection):
            connection.sendall(OK)
            everything(connection)
            connection.sendall(last)

        return behave

    # Half a line is none.
    for last in (b"", b'{"delivered": 4}'):
        with pytest.raises(live.AgentError, match="has gone before it said"), fake(dies(last)).agent.send(3) as stream:
            stream.write(b"some")
        assert stream.delivered is None
    with pytest.raises(live.AgentError, match="has gone before a stream came"):
        receive(fake(give(OK)))


def test_a_reset_is_no_end(fake):
    def reset(connection):
        connection.sendall(OK + b'{"from": 1, "length": null}\nsome')
        # Waits for the byte below and leaves it unread, which makes the system send a reset.
        connection.recv(1, socket.MSG_PEEK)

    with fake(reset).agent.receive() as stream:
        assert stream.read(4) == b"some"
        stream._connection.socket.sendall(b"x")
        with pytest.raises(live.AgentError, match="before it was complete"):
            stream.read()


def test_what_is_short_or_long_is_an_error(fake):
    head = OK + b'{"from": 1, "length": 5}\n'
    with pytest.raises(live.AgentError, match="4 B have come of a stream that was said to have 5"):
        receive(fake(give(head + b"only")))
    with pytest.raises(live.AgentError, match="said to have 5"):
        receive(fake(give(head + b"too long")))

    stream = fake(take).agent.send(3, length=5)
    with pytest.raises(ValueError, match="said to have 5 B, and would have 6"):
        stream.write(b"longer")
    stream.write(b"less")
    with pytest.raises(live.AgentError, match="4 B of 5 were written"):
        stream.close()

    def deliver_less(connection):
        connection.sendall(OK)
        everything(connection)
        connection.sendall(b'{"delivered": 3}\n')

    stream = fake(deliver_less).agent.send(3)
    stream.write(b"some")
    with pytest.raises(live.AgentError, match="3 B of 4 were delivered"):
        stream.close()


def test_an_exception_breaks_the_stream_off(fake):
    one = fake(lambda connection: (connection.sendall(OK), everything(connection)))
    with pytest.raises(KeyError), one.agent.send(3) as stream:
        stream.write(b"some")
        raise KeyError
    assert stream.delivered is None
    assert stream.fileno() == -1
    assert one.end()[1] == b"some"


@pytest.mark.parametrize("said", [b"hello\n", b'{"ok"\n', b"{}\n", b"\n", b"[]\n", b'{"delivered": 1}\n', b"\xff\n", b"a" * (1 << 20)])
def test_nonsense_is_an_error(fake, said):
    def behave(connection):
        # It is not read to its end.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(said)

    with pytest.raises(live.AgentError, match="this is no agent"):
        receive(fake(behave))


def test_the_head_of_a_stream_is_checked(fake):
    for head in (b'{"from": "host-1"}\n', b'{"length": 1}\n', b'{"from": 1, "length": "1"}\n'):
        with pytest.raises(live.AgentError, match="this is no agent"):
            receive(fake(give(OK + head)))


def test_nobody_is_an_error(tmp_path):
    with pytest.raises(live.AgentError, match=r"no agent at .*timeplane live agent"):
        live.Agent(tmp_path / "none").receive()


def test_waits_are_bounded(fake):
    waiting = threading.Event()
    one = fake(lambda connection: (connection.sendall(OK), waiting.wait(PATIENCE)))
    one.agent.timeout = 0.05
    # The agent may take its time to answer, too.
    with pytest.raises(TimeoutError):
        receive(one)
    waiting.set()


@pytest.mark.parametrize("wrong", [{"to": -1}, {"to": 1 << 32}, {"to": 1, "port": 65536}, {"to": 1, "length": -1}])
def test_numbers_are_checked_before_anything_is_sent(wrong):
    with pytest.raises(ValueError, match="are allowed"):
        live.Agent("nowhere").send(**wrong)
