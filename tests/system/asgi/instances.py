"""The substitute for `daphne.testing`: a server with an application that reports the messages that it receives."""

from __future__ import annotations

import pathlib
import pickle

from .servers import Servers

SERVERS: Servers


class TestApplication:
    """Each instance has a folder of its own, so there is nothing to clear."""

    @staticmethod
    def delete_setup() -> None:
        pass

    @staticmethod
    def delete_result() -> None:
        pass


class BaseDaphneTestingInstance:
    """For the case that looks into Daphne's process."""


class DaphneTestingInstance(BaseDaphneTestingInstance):
    """A server, and one exchange with its application."""

    def __init__(self, http_timeout: int | None = None, websocket_max_message_size: int | None = None, **_left_out) -> None:
        given = {"--app-timeout": http_timeout and f"{http_timeout}s", "--max-message": websocket_max_message_size}
        self.options = tuple(word for option, value in given.items() if value for word in (option, str(value)))

    def __enter__(self) -> "DaphneTestingInstance":
        self.host, self.port = SERVERS.telling(*self.options).address
        self.folder: pathlib.Path = SERVERS.meet()
        return self

    def __exit__(self, *_) -> None:
        pass

    def add_send_messages(self, messages: list[dict]) -> None:
        """Sets the messages that the application sends when it has received the next one."""
        (self.folder / "orders.new").write_bytes(pickle.dumps(messages))
        (self.folder / "orders.new").rename(self.folder / "orders")

    def get_received(self) -> tuple[dict, list[dict]]:
        """The scope and the messages until now; raises the error that the application raised."""
        try:
            scope, messages, error = pickle.loads((self.folder / "received").read_bytes())
        except FileNotFoundError:
            raise ValueError("the application has received nothing") from None
        if error:
            raise error
        return scope, messages
