"""Receive a kernel's answer that came while nbclient sent something over the same socket.

nbclient sends the state of an Output widget, such as that of ``interact``, over the socket on which it waits for the
end of the cell. If the end comes just then, ZeroMQ has told of it during the sending, and the waiting is told nothing:
it took all of ``nb_execution_timeout``, five minutes, in two builds that were seen. Here it looks again each second.
"""

from __future__ import annotations

from queue import Empty
from typing import Any

from jupyter_client.channels import AsyncZMQSocketChannel
from sphinx.application import Sphinx

SECONDS = 1.0
_get = AsyncZMQSocketChannel.get_msg


async def get(self: Any, timeout: float | None = None) -> Any:
    """Return the next message.

    :param timeout: in seconds; None waits without end.
    :raises Empty: none comes in this time.
    """
    while True:
        part = SECONDS if timeout is None else min(SECONDS, timeout)
        try:
            return await _get(self, part)
        except Empty:
            if timeout is not None:
                timeout -= part
                if timeout <= 0:
                    raise


def setup(app: Sphinx) -> dict[str, bool]:
    """Replace the method of Jupyter's client."""
    AsyncZMQSocketChannel.get_msg = get  # type: ignore[method-assign]
    return {"parallel_read_safe": True, "parallel_write_safe": True}
