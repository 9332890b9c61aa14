"""Certificates: checked before they are used, believed by TLS on both sides, and made for a trial."""

from __future__ import annotations

import contextlib
import os
import re
import ssl
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ppdm_sql.engine.space import write_new
from ppdm_sql.errors import InvalidOption, NameTaken

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

TRIAL_DAYS = 30
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,61}[A-Za-z0-9])?")
AUTHORITY = "authority"
"""Name of the file with the authority's certificate, so no party's."""
PROTOCOL = "ppdm-integrate/3"
"""What both sides speak, which they settle in the handshake; the number is the version of the line."""


@dataclass(frozen=True)
class Credentials:
    """What one party shows, and by whose word it believes the other.

    Args:
        certificate: The party's certificate, PEM; those between it and the authority may follow.
        private_key: The key of the certificate, PEM.
        authority: Certificates of the authorities that are believed, PEM.
        name: The name that the certificate is for, which the partner pins.
    """

    certificate: bytes
    private_key: bytes = field(repr=False)
    authority: bytes
    name: str

    @classmethod
    def read(cls, certificate: Path | str, private_key: Path | str, authority: Path | str) -> Credentials:
        """Read the three files, PEM and the key without a password, and see that the partner can accept them.

        Raises:
            InvalidOption: A file cannot be read, the key is not the certificate's, or the certificate is
                expired, without a name, or not signed by the authority.

        Example:
            >>> from tempfile import mkdtemp
            >>> folder = Path(mkdtemp())
            >>> _ = keygen(folder, ["bank-a", "bank-b"])
            >>> files = (folder / name for name in ("bank-a.pem", "bank-a.key", "authority.pem"))
            >>> Credentials.read(*files).name
            'bank-a'
        """
        shown, key = _text("--cert", certificate), _text("--private-key", private_key)
        believed = _text("--authority", authority)
        chain, roots = _certificates("--cert", shown), _certificates("--authority", believed)
        _check_key(chain[0], key)
        _check_dates(chain[0])
        _check_issuer(chain, roots)
        return cls(shown, key, believed, _name_of(chain[0]))


def _text(option: str, path: Path | str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        raise InvalidOption(f"The file {path} of {option} cannot be read.", "Check the path.") from None


def _certificates(option: str, text: bytes) -> list[Certificate]:
    from cryptography import x509

    try:
        return x509.load_pem_x509_certificates(text)
    except ValueError:
        raise InvalidOption(
            f"The file of {option} holds no certificate.",
            "Give a PEM file, such as ppdm integrate keygen makes.",
        ) from None


def _check_key(certificate: Certificate, text: bytes) -> None:
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(text, password=None)
    except (ValueError, TypeError):  # not a key; one with a password
        raise InvalidOption(
            "The file of --private-key holds no key that can be read.", "Give a PEM file without a password."
        ) from None
    if key.public_key() != certificate.public_key():
        raise InvalidOption("The key of --private-key is not that of --cert.", "Give the two of one pair.")


def _check_dates(certificate: Certificate) -> None:
    now = datetime.now(UTC)
    if not certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc:
        raise InvalidOption(
            f"The certificate of --cert is valid from {certificate.not_valid_before_utc:%Y-%m-%d %H:%M} "
            f"to {certificate.not_valid_after_utc:%Y-%m-%d %H:%M} UTC only.",
            "Get a new one, and check the clock.",
        )


def _check_issuer(chain: Sequence[Certificate], roots: Sequence[Certificate]) -> None:
    from cryptography.exceptions import InvalidSignature

    for issuer in (*roots, *chain[1:]):
        try:
            chain[0].verify_directly_issued_by(issuer)
        except (ValueError, TypeError, InvalidSignature):
            continue
        return
    raise InvalidOption(
        "The certificate of --cert is not signed by that of --authority.",
        "Give the authority that both parties believe.",
    )


def _name_of(certificate: Certificate) -> str:
    """Give the first name of a certificate, the one that the listening side sees of its partner."""
    from cryptography import x509

    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        return names.get_values_for_type(x509.DNSName)[0]
    except (x509.ExtensionNotFound, ValueError, IndexError):
        raise InvalidOption(
            "The certificate of --cert has no name.", "Get one with a subject alternative name (DNS)."
        ) from None


# -- for TLS --------------------------------------------------------------------------------------


def context(credentials: Credentials, *, listens: bool) -> ssl.SSLContext:
    """Give what OpenSSL needs: TLS 1.3 (so neither compression nor renegotiation), certificates both ways."""
    from cryptography.hazmat.primitives.serialization import Encoding

    found = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if listens else ssl.PROTOCOL_TLS_CLIENT)
    found.minimum_version = ssl.TLSVersion.TLSv1_3
    found.check_hostname = not listens  # so that the calling side refuses another name in the handshake
    found.verify_mode = ssl.CERT_REQUIRED
    roots = _certificates("--authority", credentials.authority)
    found.load_verify_locations(cadata=b"".join(root.public_bytes(Encoding.DER) for root in roots))
    found.set_alpn_protocols([PROTOCOL])
    if listens:
        found.num_tickets = 0  # every caller shows its certificate
    with _readable(credentials.certificate) as certificate, _readable(credentials.private_key) as key:
        found.load_cert_chain(certificate, key)
    return found


@contextlib.contextmanager
def _readable(text: bytes) -> Iterator[str]:
    """Give a path at which OpenSSL can read a text, on Linux in memory alone, so that no key is on a disk."""
    if hasattr(os, "memfd_create"):
        with open(os.memfd_create("text"), "wb", buffering=0) as memory:
            memory.write(text)
            yield f"/dev/fd/{memory.fileno()}"
        return
    with TemporaryDirectory() as folder:
        file = Path(folder, "text")
        file.write_bytes(text)
        yield str(file)


# -- for a trial ----------------------------------------------------------------------------------


def keygen(
    folder: Path | str, names: Sequence[str], *, days: int = TRIAL_DAYS, force: bool = False
) -> list[Path]:
    """Make an authority and a certificate with its key for each name, for a trial.

    The keys of all parties are made in one place, so whoever runs this could speak for any of them: in
    earnest each party makes its own key and has an authority sign it. The authority's own key is not kept.

    Args:
        folder: Where the files go: ``authority.pem``, and ``NAME.pem`` and ``NAME.key`` for each name. Only
            their owner may read the keys.
        names: Of the parties, two or more.
        days: How long the certificates are valid, from 1 on.
        force: Replace files that are there.

    Returns:
        The files, the authority's first.

    Raises:
        InvalidOption: A name cannot stand in a certificate, or the folder cannot be written.
        NameTaken: A file is there already.
    """
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    _check_names(names)
    if days < 1:
        raise InvalidOption(f"{days} days are no time to be valid.", "Give --days 1 or more.")
    root_key, root = _signed(None, "ppdm trial authority", days)
    made = {f"{AUTHORITY}.pem": root.public_bytes(Encoding.PEM)}
    for name in names:
        key, certificate = _signed((root_key, root), name, days)
        made[f"{name}.pem"] = certificate.public_bytes(Encoding.PEM)
        made[f"{name}.key"] = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return _write(Path(folder), made, force=force)


def _check_names(names: Sequence[str]) -> None:
    if len({name.lower() for name in names}) < max(len(names), 2):
        raise InvalidOption(
            "There must be two different names or more.", "Write --name bank-a --name bank-b."
        )
    for name in names:
        if not _NAME.fullmatch(name) or name.lower() == AUTHORITY:
            raise InvalidOption(
                f"{name!r} cannot be the name of a party here.",
                "Use letters, digits, hyphens and points, such as bank-a.",
            )


def _signed(by: tuple[Any, Certificate] | None, name: str, days: int) -> tuple[Any, Certificate]:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    issuer_key, issuer = (key, subject) if by is None else (by[0], by[1].subject)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=by is None, path_length=None), critical=True)
    )
    if by is not None:
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
    return key, builder.sign(issuer_key, hashes.SHA256())


def _write(folder: Path, texts: dict[str, bytes], *, force: bool) -> list[Path]:
    """Write the files, keys for their owner's eyes only."""
    files = [folder / name for name in texts]
    for file in files:
        if file.exists() and not force:
            raise NameTaken(f"{file} exists already.", "Give another folder, or --force to replace it.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in zip(files, texts.values(), strict=True):
            file.unlink(missing_ok=True)
            mode = 0o600 if file.suffix == ".key" else 0o644
            write_new(file, text, step="write keys", mode=mode)
    except OSError:
        raise InvalidOption(f"{folder} cannot be written.", "Give a folder that can be written.") from None
    return files
