"""What both sides of the line have in common: Arrow Flight, loaded when it is needed, and addresses."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any

from ppdm_sql.errors import InvalidOption

COMMAND = b"ppdm integrate 1"
"""What a caller asks for; the number is the version of the line."""


@dataclass(frozen=True)
class Address:
    """A host and a port."""

    host: str
    port: int

    @classmethod
    def parse(cls, option: str, text: str) -> Address:
        """Read ``HOST:PORT``; an IPv6 address stands in brackets.

        Raises:
            InvalidOption: It is not of that form.

        Example:
            >>> Address.parse("--listen", "[::1]:8815")
            Address(host='::1', port=8815)
        """
        found = re.fullmatch(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+)):(\d{1,5})", text.strip())
        if found is None or int(found[3]) > 65535:
            raise InvalidOption(
                f"{option} {text!r} is no host and port.", f"Write it as {option} 127.0.0.1:8815."
            )
        return cls(found[1] or found[2], int(found[3]))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def location(self) -> str:
        """The place as Flight writes it, with TLS, which is not to be had without."""
        return f"grpc+tls://{self}"


def flight() -> Any:
    """Load Arrow Flight; its transport would else write lines of its own to stderr."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    import pyarrow.flight  # type: ignore[import-untyped, unused-ignore]

    return pyarrow.flight
