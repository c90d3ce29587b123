"""A stand-in for AWS's Security Token Service: it checks signatures, and issues the keys of roles.

It does what https://docs.aws.amazon.com/STS/latest/APIReference says of AssumeRole and AssumeRoleWithWebIdentity. botocore
accepts its answers, and signs so that it accepts the requests.
"""

from __future__ import annotations

import ssl
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit
from xml.sax.saxutils import escape

from aws_signature import authorization, signature
from http_server import QuietHandler, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

XML = {"Content-Type": "text/xml"}


@dataclass(frozen=True)
class Keys:
    """An access key, with the token of its session."""

    key_id: str
    secret: str
    token: str = ""


@dataclass(frozen=True)
class AskedRole:
    """A request that was signed as it must be."""

    key_id: str
    region: str
    parameters: dict[str, str]

    @property
    def role(self) -> str:
        """The last part of the role's name."""
        return self.parameters["RoleArn"].rpartition("/")[2]


@dataclass
class TokenService:
    """The service: who may ask, what it issues, and what it was asked."""

    #: The keys that may sign, by their ids.
    known: dict[str, Keys]
    #: The keys of roles, by the last part of their names.
    roles: dict[str, Keys]
    #: The seconds for which issued keys are valid, one number a request, the last one for all that follow.
    seconds: list[int] = field(default_factory=lambda: [3600])
    #: Answers in place of the service's own, each once: a status and a body.
    instead: list[tuple[int, str]] = field(default_factory=list)
    #: The external ids that roles ask for.
    external_ids: dict[str, str] = field(default_factory=dict)
    #: The requests that were signed as they must be.
    asked: list[AskedRole] = field(default_factory=list)
    #: The number of all requests.
    requests: int = 0
    address: str = ""

    def answer(self, handler: QuietHandler, body: bytes) -> tuple[int, str]:
        """The answer to a request."""
        self.requests += 1
        if self.instead:
            return self.instead.pop(0)
        parameters = {name: values[0] for name, values in parse_qs(body.decode(), strict_parsing=bool(body)).items()}
        query = {name: values[0] for name, values in parse_qs(urlsplit(handler.path).query).items()}
        if query.get("Action") == "AssumeRoleWithWebIdentity":
            return self.issue("", "", query)
        scope, _, given = authorization(handler.headers)
        keys = self.known.get(scope.key_id)
        if keys is None:
            return refusal(403, "InvalidClientTokenId", "The security token included in the request is invalid.")
        if given != signature("POST", handler.path, handler.headers, body, keys.secret):
            return refusal(403, "SignatureDoesNotMatch", f"The canonical string was {handler.headers.get('host')}")
        if (handler.headers.get("x-amz-security-token") or "") != keys.token:
            return refusal(403, "ExpiredToken", "The security token included in the request is expired")
        assert scope.service == "sts"
        assert handler.headers["content-type"].startswith("application/x-www-form-urlencoded")
        assert parameters.pop("Version") == "2011-06-15"
        assert parameters.pop("Action") == "AssumeRole"
        return self.issue(scope.key_id, scope.region, parameters)

    def issue(self, key_id: str, region: str, parameters: dict[str, str]) -> tuple[int, str]:
        """The keys of a role, which may sign from then on."""
        asked = AskedRole(key_id, region, parameters)
        self.asked.append(asked)
        keys = self.roles.get(asked.role)
        if keys is None or self.external_ids.get(asked.role) not in (None, parameters.get("ExternalId")):
            said = f"User: {key_id} is not authorized to perform: sts:AssumeRole on resource: {parameters['RoleArn']}"
            return refusal(403, "AccessDenied", said)
        self.known[keys.key_id] = keys
        seconds = self.seconds.pop(0) if len(self.seconds) > 1 else self.seconds[0]
        expiration = (datetime.now(timezone.utc) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
        action = parameters.get("Action", "AssumeRole")
        token = f"<SessionToken>{escape(keys.token)}</SessionToken>" if keys.token else ""
        return 200, (
            f'<{action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><{action}Result>'
            f"<AssumedRoleUser><AssumedRoleId>A:s</AssumedRoleId><Arn>{escape(parameters['RoleArn'])}</Arn></AssumedRoleUser>"
            f"<Credentials><AccessKeyId>{keys.key_id}</AccessKeyId><SecretAccessKey>{escape(keys.secret)}</SecretAccessKey>"
            f"{token}<Expiration>{expiration}</Expiration></Credentials></{action}Result>"
            f"<ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></{action}Response>"
        )


def refusal(status: int, code: str, message: str) -> tuple[int, str]:
    """An error as the service answers it."""
    return status, (
        '<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type>'
        f"<Code>{code}</Code><Message>{escape(message)}</Message></Error><RequestId>1</RequestId></ErrorResponse>"
    )


@contextmanager
def serving_sts(service: TokenService, certificate: Path | None = None) -> Iterator[TokenService]:
    """The service at its address, by TLS where a file has a certificate and its key."""

    class Handler(QuietHandler):
        def setup(self) -> None:
            if certificate is not None:
                tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                tls.load_cert_chain(certificate)
                self.request = tls.wrap_socket(self.request, server_side=True)
            super().setup()

        def finish(self) -> None:
            super().finish()
            if certificate is not None:
                # The server closes the connection below it.
                self.request.close()

        def do_POST(self) -> None:
            status, body = service.answer(self, self.rfile.read(int(self.headers.get("content-length") or 0)))
            self.send(status, body.encode(), XML)

    with serving(Handler) as address:
        port = address.rpartition(":")[2]
        service.address = address if certificate is None else f"https://localhost:{port}"
        yield service
