"""Certificates: checked before they are used, believed by TLS on both sides, and made for a trial."""

from __future__ import annotations

import contextlib
import os
import re
import ssl
from collections.abc import Generator, Iterator, Sequence
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
        """Read the three files and see that the partner can accept them."""
        from cryptography import x509
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        texts = []
        paths = {"--cert": certificate, "--private-key": private_key, "--authority": authority}
        for option, path in paths.items():
            with _invalid_if(f"The file {path} of {option} cannot be read.", "Check the path.", OSError):
                texts.append(Path(path).read_bytes())
        own, key, roots_text = texts
        (first, *between), roots = _certificates("--cert", own), _certificates("--authority", roots_text)
        problem = "The file of --private-key holds no key that can be read."
        with _invalid_if(problem, "Give a PEM file without a password.", ValueError, TypeError):
            public = load_pem_private_key(key, password=None).public_key()
        if public != first.public_key():
            raise InvalidOption(
                "The key of --private-key is not that of --cert.", "Give the two of one pair."
            )
        begins, ends = first.not_valid_before_utc, first.not_valid_after_utc
        if not begins <= datetime.now(UTC) <= ends:
            valid = f"from {begins:%Y-%m-%d %H:%M} to {ends:%Y-%m-%d %H:%M} UTC only"
            raise InvalidOption(
                f"The certificate of --cert is valid {valid}.", "Get a new one, and check the clock."
            )
        for issuer in (*roots, *between):
            with contextlib.suppress(ValueError, TypeError, InvalidSignature):
                first.verify_directly_issued_by(issuer)
                break
        else:
            raise InvalidOption(
                "The certificate of --cert is not signed by that of --authority.",
                "Give the authority that both parties believe.",
            )
        remedy = "Get one with a subject alternative name (DNS)."
        nameless = (x509.ExtensionNotFound, ValueError, IndexError)
        with _invalid_if("The certificate of --cert has no name.", remedy, *nameless):
            names = first.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
            name = names.get_values_for_type(x509.DNSName)[0]
        return cls(own, key, roots_text, name)


@contextlib.contextmanager
def _invalid_if(problem: str, remedy: str, *errors: type[Exception]) -> Generator[None, None, None]:
    try:
        yield
    except errors:
        raise InvalidOption(problem, remedy) from None


def _certificates(option: str, text: bytes) -> list[Certificate]:
    from cryptography import x509

    remedy = "Give a PEM file, such as ppdm integrate keygen makes."
    with _invalid_if(f"The file of {option} holds no certificate.", remedy, ValueError):
        return x509.load_pem_x509_certificates(text)


def context(credentials: Credentials, *, listens: bool) -> ssl.SSLContext:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if listens else ssl.PROTOCOL_TLS_CLIENT)
    tls.minimum_version = ssl.TLSVersion.TLSv1_3
    tls.check_hostname = not listens  # so that the calling side refuses another name in the handshake
    tls.verify_mode = ssl.CERT_REQUIRED
    tls.set_alpn_protocols([PROTOCOL])
    if listens:
        tls.num_tickets = 0  # every caller shows its certificate
    texts = (credentials.certificate, credentials.private_key, credentials.authority)
    with contextlib.ExitStack() as stack:
        certificate, key, authority = (stack.enter_context(_readable(text)) for text in texts)
        tls.load_verify_locations(authority)
        tls.load_cert_chain(certificate, key)
    return tls


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


def keygen(
    folder: Path | str, names: Sequence[str], *, days: int = TRIAL_DAYS, force: bool = False
) -> list[Path]:
    """Make an authority and a certificate with its key for each name, for a trial.

    The keys of all parties are made in one place, so whoever runs this could speak for any of them: in
    earnest each party makes its own key and has an authority sign it. The authority's own key is not kept.
    """
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    if len({name.lower() for name in names}) < max(len(names), 2):
        raise InvalidOption(
            "There must be two different names or more.", "Write --name bank-a --name bank-b."
        )
    for name in names:
        proper = re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,61}[A-Za-z0-9])?", name)
        if not proper or name.lower() == AUTHORITY:
            raise InvalidOption(
                f"{name!r} cannot be the name of a party here.",
                "Use letters, digits, hyphens and points, such as bank-a.",
            )
    if days < 1:
        raise InvalidOption(f"{days} days are not a validity period.", "Give --days 1 or more.")
    root_key, root = _issue(None, "ppdm trial authority", days)
    files = {Path(folder, f"{AUTHORITY}.pem"): root.public_bytes(Encoding.PEM)}
    for name in names:
        key, certificate = _issue((root_key, root), name, days)
        files[Path(folder, f"{name}.pem")] = certificate.public_bytes(Encoding.PEM)
        text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        files[Path(folder, f"{name}.key")] = text
    for file in files:
        if file.exists() and not force:
            raise NameTaken(f"{file} exists already.", "Give another folder, or --force to replace it.")
    remedy = "Give a folder that can be written."
    with _invalid_if(f"{Path(folder)} cannot be written.", remedy, OSError):
        Path(folder).mkdir(parents=True, exist_ok=True)
        for file, text in files.items():
            file.unlink(missing_ok=True)
            write_new(file, text, step="write keys", mode=0o600 if file.suffix == ".key" else 0o644)
    return list(files)


def _issue(by: tuple[Any, Certificate] | None, name: str, days: int) -> tuple[Any, Certificate]:
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
