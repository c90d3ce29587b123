"""Roles that credentials assume, against a service of roles that checks signatures, and a real S3 server that takes the roles' keys.

The keys that assume a role are unknown to the S3 server, so a read that works has been signed by the keys of the role.
"""

from __future__ import annotations

import json
import re
import socket
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest
from aws_signature import authorization, signature
from certificates import certificate
from conftest import Done, ok, run
from http_server import QuietHandler, serving
from sts import Keys, TokenService, refusal, serving_sts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from s3server import S3

SOURCE = Keys("AKIASOURCE", "source/secret+key")
ARN = "arn:aws:iam::123456789012:role"

#: Profiles by their names. `source` has the keys that the service knows.
PROFILES: dict[str, dict[str, str]] = {
    "source": {"aws_access_key_id": SOURCE.key_id, "aws_secret_access_key": SOURCE.secret},
    "reader": {"role_arn": f"{ARN}/reader", "source_profile": "source"},
    "full": {
        "role_arn": f"{ARN}/reader",
        "source_profile": "source",
        "role_session_name": "nightly@lake",
        "external_id": "a&b=c d+é",
        "duration_seconds": "900",
    },
    "middle": {"role_arn": f"{ARN}/middle", "source_profile": "source"},
    "chained": {"role_arn": f"{ARN}/reader", "source_profile": "middle"},
    # Its keys come before its role where it is a source.
    "both": {"role_arn": f"{ARN}/middle", "source_profile": "source", "aws_access_key_id": SOURCE.key_id}
    | {"aws_secret_access_key": SOURCE.secret},
    "by-both": {"role_arn": f"{ARN}/reader", "source_profile": "both"},
    "own": {
        "role_arn": f"{ARN}/reader",
        "source_profile": "own",
        "aws_access_key_id": SOURCE.key_id,
        "aws_secret_access_key": SOURCE.secret,
    },
    "process": {"credential_process": "cat {folder}/keys.json"},
    "by-process": {"role_arn": f"{ARN}/reader", "source_profile": "process"},
    "environment": {"role_arn": f"{ARN}/reader", "credential_source": "Environment"},
    "container": {"role_arn": f"{ARN}/reader", "credential_source": "EcsContainer"},
    "machine": {"role_arn": f"{ARN}/reader", "credential_source": "Ec2InstanceMetadata"},
    "web": {"role_arn": f"{ARN}/middle", "web_identity_token_file": "{folder}/token"},
    "by-web": {"role_arn": f"{ARN}/reader", "source_profile": "web"},
    # Faults.
    "self": {"role_arn": f"{ARN}/reader", "source_profile": "self"},
    "one": {"role_arn": f"{ARN}/reader", "source_profile": "two"},
    "two": {"role_arn": f"{ARN}/middle", "source_profile": "one"},
    "gone": {"role_arn": f"{ARN}/reader", "source_profile": "nowhere"},
    "bare": {"role_arn": f"{ARN}/reader", "source_profile": "empty"},
    "empty": {"output": "json"},
    "double": {"role_arn": f"{ARN}/reader", "source_profile": "source", "credential_source": "Environment"},
    "sourceless": {"role_arn": f"{ARN}/reader"},
    "unknown": {"role_arn": f"{ARN}/reader", "credential_source": "Cloud"},
    "device": {"role_arn": f"{ARN}/reader", "source_profile": "source", "mfa_serial": "arn:aws:iam::1:mfa/me"},
}

#: The requests that botocore 1.43.11 makes for a profile: the key that signs, and the parameters but the session's name, which it
#: makes up as we do. An error where botocore has one.
OF_BOTOCORE: dict[str, list[tuple[str, dict[str, str]]] | str] = {
    "reader": [(SOURCE.key_id, {"RoleArn": f"{ARN}/reader"})],
    "full": [
        (
            SOURCE.key_id,
            {
                "RoleArn": f"{ARN}/reader",
                "RoleSessionName": "nightly@lake",
                "ExternalId": "a&b=c d+é",
                "DurationSeconds": "900",
            },
        )
    ],
    "chained": [
        (SOURCE.key_id, {"RoleArn": f"{ARN}/middle"}),
        ("ASIAMIDDLE", {"RoleArn": f"{ARN}/reader"}),
    ],
    "by-both": [(SOURCE.key_id, {"RoleArn": f"{ARN}/reader"})],
    "own": [(SOURCE.key_id, {"RoleArn": f"{ARN}/reader"})],
    "by-process": [(SOURCE.key_id, {"RoleArn": f"{ARN}/reader"})],
    "self": "InfiniteLoopConfigError",
    "one": "InfiniteLoopConfigError",
    "gone": "InvalidConfigError",
    "bare": "InvalidConfigError",
    "double": "InvalidConfigError",
    "sourceless": "PartialCredentialsError",
    "unknown": "InvalidConfigError",
}


@pytest.fixture(autouse=True)
def without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables of the caller are not looked at."""
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN", "REGION", "PROFILE", "ENDPOINT_URL"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)


def write_profiles(folder: Path, *, region: str | None = "us-east-1") -> None:
    """The files of AWS, and those that they name."""
    (folder / ".aws").mkdir(exist_ok=True)
    sections = []
    for name, entries in PROFILES.items():
        lines = [f"[profile {name}]", *(f"{key} = {value}" for key, value in entries.items())]
        sections += [line.replace("{folder}", str(folder)) for line in lines]
        sections += [f"region = {region}"] if region else []
    (folder / ".aws" / "config").write_text("\n".join(sections), encoding="utf-8")
    keys = {"Version": 1, "AccessKeyId": SOURCE.key_id, "SecretAccessKey": SOURCE.secret}
    (folder / "keys.json").write_text(json.dumps(keys))
    (folder / "token").write_text("the-token")


@pytest.fixture
def home(tmp_path: Path, s3: S3) -> Path:
    """A home folder with profiles."""
    write_profiles(tmp_path)
    s3.put("role/x.csv", b"a\n1\n2\n")
    return tmp_path


@pytest.fixture
def service(s3: S3) -> Iterator[TokenService]:
    """A service whose role `reader` has the S3 server's keys."""
    with serving_sts(token_service(s3)) as found:
        yield found


def token_service(s3: S3) -> TokenService:
    # The S3 server knows no tokens of sessions.
    roles = {
        "reader": Keys(s3.access_key, s3.secret_key),
        "middle": Keys("ASIAMIDDLE", "middle+secret", "middle/token"),
    }
    return TokenService({SOURCE.key_id: SOURCE}, roles)


def environment(home: Path, s3: S3, service: TokenService, **more: str) -> dict[str, str]:
    """The variables of a process without keys."""
    addresses = {"AWS_ENDPOINT_URL_S3": s3.endpoint, "AWS_ENDPOINT_URL_STS": service.address}
    return {"HOME": str(home), "AWS_ALLOW_HTTP": "true", **addresses, **more}


def scan(s3: S3, env: dict[str, str], *options: str) -> Done:
    """A read of two rows by a few requests."""
    return run("scan", s3.url("role/*.csv"), "--count", "--json", *options, env=env)


def without_name(parameters: dict[str, str]) -> dict[str, str]:
    """The parameters without the session's name that a program has made up."""
    made_up = re.fullmatch(r"(lakerace|botocore-session)-\d+", parameters["RoleSessionName"])
    return {name: value for name, value in parameters.items() if name != "RoleSessionName" or not made_up}


@pytest.mark.parametrize("profile", list(OF_BOTOCORE))
def test_profiles_mean_what_they_mean_to_botocore(s3: S3, home: Path, service: TokenService, profile: str) -> None:
    expected = OF_BOTOCORE[profile]
    done = scan(s3, environment(home, s3, service, AWS_PROFILE=profile))
    if isinstance(expected, str):
        assert (done.code, service.requests) == (2, 0), done.out
        assert {"bare": "empty"}.get(profile, profile) in done.error["message"]
        assert str(home / ".aws" / "config") in done.error["place"]
    else:
        assert (done.code, done.json["rows"]) == (0, 2), done.out + done.err
        assert [(asked.key_id, without_name(asked.parameters)) for asked in service.asked] == expected


def test_a_role_is_requested_once_for_all_requests(s3: S3, home: Path, service: TokenService) -> None:
    env = environment(home, s3, service, AWS_PROFILE="chained")
    found = ok("check", s3.url("role/"), "--json", env=env).json
    assert [asked.role for asked in service.asked] == ["middle", "reader"]
    assert found["credentials"] == (
        f"the role {ARN}/reader of the profile chained, by the role {ARN}/middle of the profile middle, by the profile source"
    )
    assert found["region"] == "us-east-1"
    assert SOURCE.secret not in json.dumps(found)


def test_keys_are_renewed_before_they_expire(s3: S3, home: Path, service: TokenService) -> None:
    # The first ones expire in less than five minutes, so that the next request renews them.
    service.seconds = [120, 60, 3600]
    ok("check", s3.url("role/"), "--json", env=environment(home, s3, service, AWS_PROFILE="reader"))
    assert service.requests == 3
    # A service that does not answer is no fault while the keys are valid.
    service.seconds, service.requests = [60], 0
    down = refusal(503, "ServiceUnavailable", "down")
    keys = service.answer

    def answer_once(handler: QuietHandler, body: bytes) -> tuple[int, str]:
        found = keys(handler, body)
        service.instead = [down] * 100
        return found

    service.answer = answer_once  # type: ignore[method-assign]
    env = environment(home, s3, service, AWS_PROFILE="reader")
    assert {right["outcome"] for right in ok("check", s3.url("role/"), "--json", env=env).json["rights"]} == {"allowed"}
    # One answer, and the attempts of one renewal.
    assert service.requests == 1 + 4
    # Keys that are expired already are of no use.
    service.instead, service.seconds = [], [-10]
    expired = scan(s3, environment(home, s3, service, AWS_PROFILE="reader"))
    assert (expired.code, "expired" in expired.error["message"]) == (4, True), expired.out


@pytest.mark.parametrize(
    ("region", "variables", "signed"),
    [
        ("eu-west-1", {}, "eu-west-1"),
        ("eu-west-1", {"AWS_REGION": "us-west-2"}, "us-west-2"),
        ("eu-west-1", {"AWS_DEFAULT_REGION": "us-west-2"}, "us-west-2"),
        (None, {}, "us-east-1"),
    ],
)
def test_requests_are_signed_for_the_region(
    s3: S3, home: Path, service: TokenService, region: str | None, variables: dict[str, str], signed: str
) -> None:
    write_profiles(home, region=region)
    # The S3 server may know one region only.
    scan(s3, environment(home, s3, service, AWS_PROFILE="reader", **variables))
    assert [asked.region for asked in service.asked] == [signed]


def test_the_endpoint_of_the_profile_is_that_of_its_roles(s3: S3, home: Path, service: TokenService) -> None:
    config = home / ".aws" / "config"
    config.write_text(
        config.read_text().replace("[profile reader]", f"[profile reader]\nendpoint_url = {service.address}")
    )
    env = {"HOME": str(home), "AWS_ALLOW_HTTP": "true", "AWS_ENDPOINT_URL_S3": s3.endpoint, "AWS_PROFILE": "reader"}
    assert scan(s3, env).code == 0
    assert len(service.asked) == 1
    plain = scan(s3, {**env, "AWS_ALLOW_HTTP": ""})
    assert (plain.code, "plain http" in plain.error["message"]) == (2, True)


@contextmanager
def machine(keys: Keys) -> Iterator[str]:
    """The service of a machine or a container that returns its keys, without proof or by the token in a file."""
    expiration = (datetime.now(timezone.utc) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    names = ("AccessKeyId", "SecretAccessKey", "Token", "Expiration")
    body = json.dumps(dict(zip(names, (keys.key_id, keys.secret, keys.token, expiration), strict=True)))

    class Handler(QuietHandler):
        def do_PUT(self) -> None:
            self.send(200, b"metadata-token")

        def do_GET(self) -> None:
            if self.path.endswith("/security-credentials/"):
                return self.send(200, b"machine-role")
            is_known = self.headers.get("X-aws-ec2-metadata-token") or self.headers.get("Authorization") == "the-token"
            self.send(200 if is_known else 401, body.encode())

    with serving(Handler) as address:
        yield address


@pytest.mark.parametrize("profile", ["environment", "container", "machine"])
def test_credential_sources(s3: S3, home: Path, service: TokenService, profile: str) -> None:
    source = Keys("ASIASOURCE", "other/secret", "a/token+of=")
    service.known = {source.key_id: source}
    with machine(source) as address:
        variables, words = {
            "environment": (
                {
                    "AWS_ACCESS_KEY_ID": source.key_id,
                    "AWS_SECRET_ACCESS_KEY": source.secret,
                    "AWS_SESSION_TOKEN": source.token,
                },
                "the key aws_access_key_id of the environment",
            ),
            "container": (
                {
                    "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{address}/keys",
                    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(home / "token"),
                },
                "the container's credentials",
            ),
            "machine": ({"AWS_METADATA_ENDPOINT": address}, "the metadata service of an Amazon EC2 machine"),
        }[profile]
        env = environment(home, s3, service, **variables)
        named = ["--storage-option", f"aws_profile={profile}"]
        assert ok("scan", s3.url("role/x.csv"), "--count", *named, env=env).out.strip() == "2"
        assert [asked.key_id for asked in service.asked] == [source.key_id]
        found = ok("check", s3.url("role/"), "--json", *named, env=env).json
        assert found["credentials"] == f"the role {ARN}/reader of the profile {profile}, by {words}"
        without = scan(s3, environment(home, s3, service), *named)
        if profile != "machine":
            assert (without.code, f'profile "{profile}"' in without.error["message"]) == (2, True), without.out
        # Keys of the environment come before AWS_PROFILE, and profiles before the container, as in Amazon's own tools.
        service.asked.clear()
        by_variable = scan(s3, {**env, "AWS_PROFILE": profile})
        assert (by_variable.code == 0, len(service.asked)) == ((True, 1) if profile == "container" else (False, 0))


def test_web_identity_as_the_source(s3: S3, home: Path, tmp_path: Path) -> None:
    """The library that asks for web identity does so by TLS only."""
    certificate(tmp_path, "localhost", "subjectAltName=DNS:localhost")
    both = tmp_path / "both.pem"
    both.write_text((tmp_path / "localhost.pem").read_text() + (tmp_path / "localhost.key").read_text())
    with serving_sts(token_service(s3), both) as service:
        env = environment(home, s3, service, AWS_PROFILE="by-web")
        trusting = ["--storage-option", "allow_invalid_certificates=true"]
        assert scan(s3, env, *trusting).json["rows"] == 2
        assert [(asked.role, asked.key_id) for asked in service.asked] == [("middle", ""), ("reader", "ASIAMIDDLE")]
        assert service.asked[0].parameters["WebIdentityToken"] == "the-token"
        distrusting = scan(s3, env, "--storage-option", "retry_time=0s")
        assert distrusting.code == 8, distrusting.out


def test_the_token_of_a_role_is_sent_with_its_keys(home: Path, service: TokenService) -> None:
    """A stand-in for S3 checks what the tests' real server does not know: the token."""
    keys = service.roles["middle"]
    signed: list[bool] = []

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            given = authorization(self.headers)
            right = given[2] == signature("GET", self.path, self.headers, b"", keys.secret)
            signed.append(
                right and given[0].key_id == keys.key_id and self.headers["x-amz-security-token"] == keys.token
            )
            first = self.headers.get("Range") is None
            headers = {"ETag": '"1"', "Last-Modified": "Wed, 21 Oct 2015 07:28:00 GMT"}
            self.send(
                200 if first else 206, b"a\n1\n2\n", headers if first else {**headers, "Content-Range": "bytes 0-5/6"}
            )

        do_HEAD = do_GET

    with serving(Handler) as s3:
        env = {"HOME": str(home), "AWS_ALLOW_HTTP": "true", "AWS_PROFILE": "middle", "AWS_ENDPOINT_URL_S3": s3}
        run("scan", "s3://bucket/x.csv", "--count", env={**env, "AWS_ENDPOINT_URL_STS": service.address})
    assert signed
    assert all(signed)


@pytest.mark.parametrize("name", ["aws_iam_role_arn", "AWS_S3_ASSUME_ROLE_ARN"])
def test_a_role_of_an_option_is_assumed_by_any_credentials(
    s3: S3, home: Path, service: TokenService, name: str
) -> None:
    role = ["--storage-option", f"{name}={ARN}/reader"]
    keys = {"AWS_ACCESS_KEY_ID": SOURCE.key_id, "AWS_SECRET_ACCESS_KEY": SOURCE.secret}
    words = f"the role {ARN}/reader of the storage option aws_iam_role_arn, by"
    for variables, source in [
        (keys, "the key aws_access_key_id of the environment"),
        ({"AWS_PROFILE": "source"}, "the profile source"),
        ({"AWS_PROFILE": "middle"}, f"the role {ARN}/middle of the profile middle, by the profile source"),
    ]:
        found = ok("check", s3.url("role/"), "--json", *role, env=environment(home, s3, service, **variables)).json
        assert found["credentials"] == f"{words} {source}"
    assert [asked.key_id for asked in service.asked] == [SOURCE.key_id] * 3 + ["ASIAMIDDLE"]
    named = ["--storage-option", "aws_iam_role_session_name=me@night"]
    assert scan(s3, environment(home, s3, service, **keys), *role, *named).json["rows"] == 2
    assert service.asked[-1].parameters == {"RoleArn": f"{ARN}/reader", "RoleSessionName": "me@night"}
    # A role of web identity without its token would be ignored.
    web = scan(s3, environment(home, s3, service, **keys), "--storage-option", f"aws_role_arn={ARN}/reader")
    assert (web.code, "aws_iam_role_arn" in web.error["advice"]) == (2, True)


def test_external_ids_are_asked_for(s3: S3, home: Path, service: TokenService) -> None:
    service.external_ids = {"reader": PROFILES["full"]["external_id"]}
    assert scan(s3, environment(home, s3, service, AWS_PROFILE="full")).code == 0
    denied = scan(s3, environment(home, s3, service, AWS_PROFILE="reader"))
    assert (denied.code, "external_id" in denied.error["advice"]) == (4, True)


#: What the service answers, the exit code, what the error says, and the number of requests.
ANSWERS: list[tuple[tuple[int, str], int, str, int]] = [
    (refusal(403, "AccessDenied", "User: me is not authorized"), 4, "AccessDenied: User: me is not authorized", 1),
    (refusal(403, "ExpiredToken", "expired"), 4, "ExpiredToken", 1),
    (refusal(403, "SignatureDoesNotMatch", "POST / with a canary"), 4, "SignatureDoesNotMatch", 1),
    (refusal(400, "ValidationError", f"quotes {SOURCE.secret}"), 4, "ValidationError", 1),
    (refusal(400, "Throttling", "slow down"), 8, "Throttling", 4),
    ((503, ""), 8, "status 503", 4),
    ((404, "<html>a canary</html>"), 4, "status 404", 1),
    ((302, ""), 4, "redirect", 1),
    ((200, "a canary"), 8, "something other than credentials", 4),
    ((200, "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>canary"), 8, "something other", 4),
]


@pytest.mark.parametrize(("answer", "code", "says", "requests"), ANSWERS, ids=lambda value: str(value)[:20])
def test_what_the_service_answers_is_said(
    s3: S3, home: Path, service: TokenService, answer: tuple[int, str], code: int, says: str, requests: int
) -> None:
    service.instead = [answer] * 100
    done = scan(s3, environment(home, s3, service, AWS_PROFILE="reader"))
    assert (done.code, says in done.error["message"]) == (code, True), done.out
    for part in ("profile reader", f"{ARN}/reader", service.address.partition("://")[2]):
        assert part in done.error["place"]
    assert not any(secret in done.out + done.err for secret in (SOURCE.secret, "canary", s3.secret_key))
    assert done.error["advice"]
    assert service.requests == requests


def test_wrong_and_unknown_keys(s3: S3, home: Path, service: TokenService) -> None:
    service.known = {SOURCE.key_id: Keys(SOURCE.key_id, "another")}
    wrong = scan(s3, environment(home, s3, service, AWS_PROFILE="reader"))
    assert (wrong.code, "SignatureDoesNotMatch" in wrong.error["message"]) == (4, True)
    service.known = {}
    unknown = scan(s3, environment(home, s3, service, AWS_PROFILE="reader"))
    assert (unknown.code, "InvalidClientTokenId" in unknown.error["message"]) == (4, True)
    assert service.asked == []


def test_a_service_that_is_not_there_or_does_not_answer(s3: S3, home: Path, service: TokenService) -> None:
    env = environment(home, s3, service, AWS_PROFILE="reader")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        limits = [f"--storage-option={option}" for option in ("timeout=100ms", "retry_time=0s")]
        slow = scan(s3, {**env, "AWS_ENDPOINT_URL_STS": address}, *limits)
    assert (slow.code, "does not answer" in slow.error["message"]) == (8, True), slow.out
    # The port is closed by now.
    absent = scan(s3, {**env, "AWS_ENDPOINT_URL_STS": address})
    assert (absent.code, "does not answer" in absent.error["message"]) == (8, True), absent.out
    assert "AWS_ENDPOINT_URL_STS" in absent.error["advice"]


def test_a_role_that_needs_a_device_is_refused_with_what_to_do(s3: S3, home: Path, service: TokenService) -> None:
    done = scan(s3, environment(home, s3, service, AWS_PROFILE="device"))
    assert (done.code, service.requests) == (6, 0)
    assert "mfa_serial" in done.error["message"]
    assert "export-credentials --profile device" in done.error["advice"]


@pytest.mark.parametrize("name", ["config", "credentials"])
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("hunter2 = x\n[default]\n", 1),
        ("[default]\nregion = us-east-1\nhunter2\n", 3),
        ("[default\nregion = us-east-1\n", 1),
        ('{"default": "hunter2"}', 1),
    ],
)
def test_files_that_botocore_can_not_parse(s3: S3, tmp_path: Path, name: str, text: str, line: int) -> None:
    """Each of them is a ConfigParseError of botocore 1.43.11. A process that has keys is only warned."""
    (tmp_path / ".aws").mkdir()
    file = tmp_path / ".aws" / name
    file.write_text(text)
    s3.put("role/x.csv", b"a\n1\n2\n")
    env = {
        "HOME": str(tmp_path),
        "AWS_ALLOW_HTTP": "true",
        "AWS_ENDPOINT_URL_S3": s3.endpoint,
        "AWS_REGION": "us-east-1",
    }
    for profile in ("default", ""):
        done = scan(s3, {**env, "AWS_PROFILE": profile})
        assert (done.code, done.error["place"].endswith(f": {file}, line {line}")) == (4, True), done.out
        assert "hunter2" not in done.out + done.err
    keys = {"AWS_ACCESS_KEY_ID": s3.access_key, "AWS_SECRET_ACCESS_KEY": s3.secret_key}
    warned = ok("scan", s3.url("role/x.csv"), "--count", env={**env, **keys})
    assert f"{file}, line {line}" in warned.err
    assert "hunter2" not in warned.err
