"""Certificates of servers and clients, by OpenSSL."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def certificate(folder: Path, name: str, extension: str, issuer: str | None = None) -> None:
    """A key and a certificate, signed by itself or by another one."""
    (folder / f"{name}.ext").write_text(extension)
    subject = ["-subj", f"/CN={name}"]
    new = ["openssl", "req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", *subject, "-out", f"{name}.csr"]
    by = (
        ["-CA", f"{issuer}.pem", "-CAkey", f"{issuer}.key", "-CAcreateserial"]
        if issuer
        else ["-signkey", f"{name}.key"]
    )
    sign = [
        "openssl",
        "x509",
        "-req",
        "-in",
        f"{name}.csr",
        *by,
        "-days",
        "2",
        "-extfile",
        f"{name}.ext",
        "-out",
        f"{name}.pem",
    ]
    for step in (new, sign):
        subprocess.run(step, cwd=folder, check=True, capture_output=True)
