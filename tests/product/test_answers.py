"""Check that the site's build receives a kernel's answer that came while it sent something over the same socket."""

from __future__ import annotations

import asyncio
import importlib.util
from pathlib import Path
from typing import Any

import pytest

from tests import needs

for name in ("zmq", "jupyter_client", "sphinx"):
    needs.package(name)

import zmq.asyncio
from jupyter_client.channels import AsyncZMQSocketChannel
from jupyter_client.session import Session

FILE = Path(__file__).parents[2] / "docs" / "extensions" / "answers.py"
SECONDS = 60.0  # for which it would wait without the mend


async def answered() -> Any:
    """Return the answer that arrives before something is sent, while it is waited for."""
    session, contexts = Session(key=b"key"), (zmq.Context(), zmq.asyncio.Context())
    kernel, socket = contexts[0].socket(zmq.ROUTER), contexts[1].socket(zmq.DEALER)
    port = kernel.bind_to_random_port("tcp://127.0.0.1")
    socket.connect(f"tcp://127.0.0.1:{port}")
    try:
        sender = zmq.Socket.shadow(socket.underlying)  # as that of a session is
        sender.send(b"execute")
        client, _ = kernel.recv_multipart()
        waiting = asyncio.create_task(AsyncZMQSocketChannel(socket, session).get_msg(SECONDS))
        await asyncio.sleep(0)  # it begins
        session.send(kernel, "execute_reply", {}, ident=client)
        assert sender.poll(SECONDS * 1000)  # it has come
        sender.send(b"state of a widget")
        return await asyncio.wait_for(waiting, SECONDS / 2)
    finally:
        for context in contexts:
            context.destroy(0)


@pytest.mark.sweep
def test_an_answer_that_came_during_a_send(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location("answers", FILE)
    assert spec is not None and spec.loader is not None
    answers = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(answers)
    monkeypatch.setattr(AsyncZMQSocketChannel, "get_msg", answers.get)
    assert asyncio.run(answered())["msg_type"] == "execute_reply"
