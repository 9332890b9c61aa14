"""The secret that all noise of a run comes from: drawn and thrown away, kept in a file, or made of a seed."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import re
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from ppdm_sql.engine.space import write_new
from ppdm_sql.errors import InvalidOption

BYTES = 32
_TEXT = re.compile(rf"[0-9a-f]{{{2 * BYTES}}}")


@dataclass(frozen=True)
class Key:
    """A secret of 32 bytes, which no text of it shows.

    Example:
        >>> Key(b"x" * 32, "no")
        Key(kept='no')
    """

    secret: bytes = field(repr=False)
    kept: str  # `file`, `seed`, or `no` if it is thrown away

    @property
    def fingerprint(self) -> str | None:
        """Tell keys of files apart, without giving anything of them away; None for all others.

        A seed can be guessed, so that nothing that depends on it may be written down.
        """
        if self.kept != "file":
            return None
        return hashlib.sha256(b"ppdm key fingerprint" + self.secret).hexdigest()[:16]

    def derived(self, *context: str) -> bytes:
        """Derive the key of one column; the parts of the context are told apart whatever they hold.

        Example:
            >>> Key(b"x" * 32, "no").derived("a", "b") == Key(b"x" * 32, "no").derived("ab")
            False
        """
        parts = b"".join(len(part.encode()).to_bytes(8, "little") + part.encode() for part in context)
        return hmac.new(self.secret, parts, hashlib.sha256).digest()


def run_key(key_file: str | os.PathLike[str] | None, seed: int | None, *, dry: bool = False) -> Key:
    """Read the key of a run from its file, make it of a seed, or draw it; ``dry`` writes no new file.

    Raises:
        InvalidOption: Both are given, or the file holds no key or cannot be read or written.
    """
    if seed is not None and key_file is not None:
        raise InvalidOption("A key and a seed exclude each other.", "Give --key-file, or --seed in a test.")
    if seed is not None:
        return Key(hashlib.sha256(f"ppdm randomize {seed}".encode()).digest(), "seed")
    if key_file is None or (dry and not Path(key_file).exists()):
        return Key(secrets.token_bytes(BYTES), "no")
    path = Path(key_file)
    try:
        with contextlib.suppress(FileExistsError):
            write_new(path, f"{secrets.token_hex(BYTES)}\n".encode(), step="write key", mode=0o600)
        text = path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        raise InvalidOption(
            f"The key file {path} cannot be read or written.",
            "Give the path of a file that only you can read.",
        ) from None
    if not _TEXT.fullmatch(text):
        raise InvalidOption(
            f"The file {path} does not hold a key of ppdm-sql.",
            "Give the path of a new file, or of one that --key-file has made.",
        )
    return Key(bytes.fromhex(text), "file")


def is_open_to_others(path: str | os.PathLike[str]) -> bool:
    """Tell whether others than its owner can read a file."""
    return os.name == "posix" and bool(Path(path).stat().st_mode & 0o077)
