"""Byte streams through the agent of a real host, used like sockets.

>>> agent = timeplane.live.Agent("/run/timeplane/host-3.sock")
>>> with agent.send(to=5, port=7) as stream:
...     stream.write(b"all of it")
>>> stream.delivered
9

On the other host:

>>> with agent.receive(port=7) as stream:
...     data = stream.read()
>>> stream.source
3

Written bytes wait for their slots at the agent, and count as delivered when the receiving host has
acknowledged them. A broken stream raises :class:`AgentError`. If its length is known, no stream
ends early without an exception. The Rust client (``timeplane_live::client``) works the same way and
documents the protocol on the socket.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

from timeplane._errors import TimeplaneError

__all__ = ["Agent", "AgentError", "Receiver", "Sender"]

#: Longest line of an agent, in bytes.
_LINE = 64 << 10
#: Bytes per read.
_CHUNK = 64 << 10


class AgentError(TimeplaneError, OSError):
    """A stream failed: the agent is missing, refused or exited, or bytes are missing."""


class Agent:
    """An agent's socket.

    ``timeout`` (seconds) bounds each wait for the agent, as :meth:`socket.socket.settimeout` does.
    A stream without a sender or a receiver then raises :class:`TimeoutError`. ``None`` waits
    forever.
    """

    def __init__(self, path: str | os.PathLike[str], *, timeout: float | None = None) -> None:
        self.path = os.fspath(path)
        self.timeout = timeout

    def __repr__(self) -> str:
        return f"Agent({self.path!r})"

    def send(self, to: int, port: int = 0, length: int | None = None) -> Sender:
        """Start a stream to a port of a host.

        ``length`` is the number of bytes that will be written, if known. The receiver learns it,
        and writing more or fewer bytes is an error.
        """
        _check("port", port, 0xFFFF)
        _check("to", to, 0xFFFF_FFFF)
        if length is not None:
            _check("length", length, (1 << 63) - 1)
        request = {"send": {"to": to, "port": port, "length": length}}
        return Sender(_Connection(self, request), length)

    def receive(self, port: int = 0) -> Receiver:
        """Listen for one stream to a port. Senders can reach it once this returns."""
        _check("port", port, 0xFFFF)
        return Receiver(_Connection(self, {"receive": {"port": port}}))


def _check(name: str, value: int, most: int) -> None:
    if not 0 <= value <= most:
        raise ValueError(f"{name} is {value}; 0 to {most} are allowed")


class _Connection:
    """JSON lines and bytes on one socket. Bytes received after a line are kept for the next read.
    """

    def __init__(self, agent: Agent, request: dict[str, Any]) -> None:
        self.rest = b""
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.socket.settimeout(agent.timeout)
            try:
                self.socket.connect(agent.path)
            except TimeoutError:
                raise
            except OSError as e:
                hint = "is `timeplane live agent` running, and may you open its socket?"
                raise AgentError(f"no agent at {agent.path}: {e.strerror or e}; {hint}") from e
            failed = None
            try:
                self.socket.sendall(json.dumps(request).encode() + b"\n")
            except (BrokenPipeError, ConnectionResetError) as e:
                # An agent that refuses may exit before it reads this; its answer counts.
                failed = e
            answer = self.answer("it took the stream")
            if "ok" not in answer:
                raise _nonsense(answer)
            if failed is not None:
                raise AgentError("the agent has gone before it took the stream") from failed
        except BaseException:
            self.socket.close()
            raise

    def recv(self, most: int) -> bytes:
        if self.rest:
            data, self.rest = self.rest[:most], self.rest[most:]
            return data
        return self.socket.recv(most)

    def recv_into(self, buffer: memoryview) -> int:
        if self.rest:
            data = self.recv(len(buffer))
            buffer[: len(data)] = data
            return len(data)
        return self.socket.recv_into(buffer)

    def answer(self, before: str) -> dict[str, Any]:
        """The next line; raises an error that it reports."""
        parts: list[bytes] = []
        length = 0
        while True:
            try:
                data = self.recv(4096)
            except (ConnectionResetError, BrokenPipeError):
                data = b""
            if not data:
                raise AgentError(f"the agent has gone before {before}")
            line, newline, rest = data.partition(b"\n")
            parts.append(line)
            length += len(line)
            if newline:
                self.rest = rest + self.rest
                break
            if length > _LINE:
                raise _nonsense(b"".join(parts))
        line = b"".join(parts)
        try:
            answer = json.loads(line)
        except ValueError:
            raise _nonsense(line) from None
        if not isinstance(answer, dict):
            raise _nonsense(line)
        if "error" in answer:
            raise AgentError(f"the agent says: {answer['error']}")
        return answer


def _nonsense(said: Any) -> AgentError:
    text = said.decode(errors="replace") if isinstance(said, bytes) else json.dumps(said)
    return AgentError(f"this is no agent: {text[:80]!r} is not what one says")


class Sender:
    """A stream being sent.

    Leaving a ``with`` block waits until everything is delivered, as :meth:`close` does. Leaving it
    by an exception aborts the stream.
    """

    def __init__(self, connection: _Connection, length: int | None) -> None:
        self._connection = connection
        self._length = length
        self._written = 0
        self._open = True
        #: Bytes that the receiver has acknowledged; ``None`` before the stream is closed and if it
        #: failed.
        self.delivered: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    @property
    def written(self) -> int:
        """Number of bytes written so far."""
        return self._written

    def fileno(self) -> int:
        """For :mod:`select`; -1 once closed."""
        return self._connection.socket.fileno()

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Write all of ``data`` and return its length. Blocks while the agent's memory is full."""
        view = memoryview(data).cast("B")
        if not self._open:
            raise ValueError("the stream is closed")
        if self._length is not None and self._written + len(view) > self._length:
            raise ValueError(f"the stream was said to have {self._length} B, and would have {self._written + len(view)}")
        total = len(view)
        while view:
            try:
                sent = self._connection.socket.send(view)
            except (BrokenPipeError, ConnectionResetError) as e:
                raise self._lost() from e
            self._written += sent
            view = view[sent:]
        return total

    def sendall(self, data: bytes | bytearray | memoryview) -> None:
        """The same as :meth:`write`, under a socket's name."""
        self.write(data)

    def _lost(self) -> AgentError:
        """The error to raise if the agent accepts no more bytes; the agent may have reported it."""
        try:
            return _nonsense(self._connection.answer("all was written"))
        except AgentError as e:
            return e
        finally:
            self.abort()

    def close(self) -> None:
        """End the stream and wait until the receiver has acknowledged all of it. Further calls do
        nothing.
        """
        if not self._open:
            return
        if self._length is not None and self._written < self._length:
            self.abort()
            raise AgentError(f"{self._written} B of {self._length} were written")
        self._open = False
        try:
            # The agent may have gone; its last answer counts.
            with contextlib.suppress(OSError):
                self._connection.socket.shutdown(socket.SHUT_WR)
            delivered = self._connection.answer("it said that all was delivered").get("delivered")
            if delivered != self._written:
                raise AgentError(f"{delivered} B of {self._written} were delivered")
            self.delivered = delivered
        finally:
            self._connection.socket.close()

    def abort(self) -> None:
        """Abort the stream without waiting."""
        self._open = False
        self._connection.socket.close()


class Receiver:
    """A stream being received. Reading blocks until data arrives; iterating yields bytes as they
    arrive.
    """

    def __init__(self, connection: _Connection) -> None:
        self._connection = connection
        self._head: tuple[int, int | None] | None = None
        self._read = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def fileno(self) -> int:
        """For :mod:`select`; -1 once closed. Bytes that arrived with the stream's head do not make
        the socket readable.
        """
        return self._connection.socket.fileno()

    def _came(self) -> tuple[int, int | None]:
        if self._head is None:
            answer = self._connection.answer("a stream came")
            source, length = answer.get("from"), answer.get("length")
            if not isinstance(source, int) or not isinstance(length, int | None):
                raise _nonsense(answer)
            self._head = (source, length)
        return self._head

    @property
    def source(self) -> int:
        """The sending host. Blocks until a stream arrives."""
        return self._came()[0]

    @property
    def length(self) -> int | None:
        """Number of bytes of the stream, if the sender gave it. Blocks until a stream arrives."""
        return self._came()[1]

    def recv_into(self, buffer: bytearray | memoryview) -> int:
        """Read available bytes into a buffer, at least one; 0 at the end."""
        _, length = self._came()
        view = memoryview(buffer).cast("B")
        try:
            read = self._connection.recv_into(view)
        except ConnectionResetError as e:
            raise AgentError("the agent has gone, or the stream broke off, before it was complete") from e
        self._read += read
        if length is not None and (self._read > length or (read == 0 and len(view) > 0 and self._read < length)):
            raise AgentError(f"{self._read} B have come of a stream that was said to have {length}")
        return read

    def recv(self, most: int) -> bytes:
        """Read available bytes, 1 to ``most``; empty at the end."""
        buffer = bytearray(most)
        return bytes(memoryview(buffer)[: self.recv_into(buffer)])

    def read(self, most: int = -1) -> bytes:
        """Read ``most`` bytes, or fewer if the stream ends; by default all of it."""
        parts: list[bytes] = []
        while most != 0:
            data = self.recv(_CHUNK if most < 0 else min(most, _CHUNK))
            if not data:
                break
            parts.append(data)
            if most > 0:
                most -= len(data)
        return b"".join(parts)

    def __iter__(self) -> Iterator[bytes]:
        while data := self.recv(_CHUNK):
            yield data

    def close(self) -> None:
        """Stop listening, or abort an unfinished stream."""
        self._connection.socket.close()
