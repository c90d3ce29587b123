"""AWS's signature of requests, version 4, as its documentation computes it: the model that tests judge ours by."""

from __future__ import annotations

import hashlib
import hmac
import urllib.parse
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Scope:
    """What a signature is for."""

    key_id: str
    date: str
    region: str
    service: str
    terminator: str


def authorization(headers: Mapping[str, str]) -> tuple[Scope, list[str], str]:
    """The scope, the names of the signed headers, and the signature."""
    scheme, _, rest = headers["authorization"].partition(" ")
    assert scheme == "AWS4-HMAC-SHA256"
    parts = dict(part.strip().split("=", 1) for part in rest.split(","))
    return Scope(*parts["Credential"].split("/")), parts["SignedHeaders"].split(";"), parts["Signature"]


def signature(method: str, path: str, headers: Mapping[str, str], body: bytes, secret: str) -> str:
    """The signature that a request with this body must have."""
    scope, names, _ = authorization(headers)
    assert {"host", "x-amz-date"} <= set(names)
    assert headers.get("x-amz-security-token") is None or "x-amz-security-token" in names
    url = urllib.parse.urlsplit(path)
    query = sorted(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
    quoted = "&".join(f"{urllib.parse.quote(n, safe='-_.~')}={urllib.parse.quote(v, safe='-_.~')}" for n, v in query)
    hashed = hashlib.sha256(body).hexdigest()
    if scope.service == "s3":
        canonical_path = url.path
        if headers["x-amz-content-sha256"] == "UNSIGNED-PAYLOAD":
            hashed = "UNSIGNED-PAYLOAD"
    else:
        # Every service but S3 has each part of the path quoted once more.
        canonical_path = urllib.parse.quote(url.path, safe="/-_.~")
    lines = [
        method,
        canonical_path,
        quoted,
        *(f"{n}:{' '.join(headers[n].split())}" for n in names),
        "",
        ";".join(names),
        hashed,
    ]
    text = "\n".join(lines)
    where = f"{scope.date}/{scope.region}/{scope.service}/{scope.terminator}"
    to_sign = f"AWS4-HMAC-SHA256\n{headers['x-amz-date']}\n{where}\n{hashlib.sha256(text.encode()).hexdigest()}"
    key = f"AWS4{secret}".encode()
    for step in (scope.date, scope.region, scope.service, scope.terminator):
        key = hmac.new(key, step.encode(), hashlib.sha256).digest()
    return hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest()
