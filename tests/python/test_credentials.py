"""The chain of credentials of AWS: profiles, programs and single sign-on, tried against a real S3 server."""

from __future__ import annotations

import hashlib
import json
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest
from conftest import ok, run
from http_server import QuietHandler, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from s3server import S3

START_URL = "https://company.awsapps.com/start"


@pytest.fixture
def home(s3: S3, tmp_path: Path) -> Path:
    """A home folder with profiles for the server."""
    folder = tmp_path / "home"
    (folder / ".aws").mkdir(parents=True)
    keys = {"Version": 1, "AccessKeyId": s3.access_key, "SecretAccessKey": s3.secret_key}
    (folder / "keys.json").write_text(json.dumps(keys))
    (folder / ".aws" / "config").write_text(
        f"""
[default]
region = us-east-1
endpoint_url = {s3.endpoint}
credential_process = cat {folder}/keys.json
[profile keys]
region = us-east-1
endpoint_url = {s3.endpoint}
[profile failing]
endpoint_url = {s3.endpoint}
credential_process = echo hunter2; exit 3
[profile sso]
region = us-east-1
endpoint_url = {s3.endpoint}
sso_session = company
sso_account_id = 123456789012
sso_role_name = reader
[sso-session company]
sso_region = us-east-1
sso_start_url = {START_URL}
"""
    )
    (folder / ".aws" / "credentials").write_text(
        f"[keys]\naws_access_key_id = {s3.access_key}\naws_secret_access_key = {s3.secret_key}\n"
    )
    s3.put("chain/x.csv", b"a\n1\n2\n")
    return folder


def environment(home: Path, **more: str) -> dict[str, str]:
    """The variables of a process without keys."""
    return {"HOME": str(home), "AWS_ALLOW_HTTP": "true", **more}


@pytest.fixture(autouse=True)
def without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables of the caller are not looked at."""
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN", "REGION", "PROFILE", "ENDPOINT_URL"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)


def store_token(home: Path, expires: datetime) -> None:
    """A token as `aws sso login` stores it: in a file that the session names."""
    cache = home / ".aws" / "sso" / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    token = {"accessToken": "the-token", "expiresAt": expires.strftime("%Y-%m-%dT%H:%M:%SZ")}
    (cache / f"{hashlib.sha1(b'company').hexdigest()}.json").write_text(json.dumps(token))


@contextmanager
def portal(s3: S3) -> Iterator[tuple[str, list[str]]]:
    """The address of a portal of single sign-on, and what it was asked."""
    asked: list[str] = []
    expiration = (datetime.now(timezone.utc) + timedelta(hours=1)).timestamp() * 1000
    keys = {
        "accessKeyId": s3.access_key,
        "secretAccessKey": s3.secret_key,
        "sessionToken": "",
        "expiration": int(expiration),
    }

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            is_known = self.headers["x-amz-sso_bearer_token"] == "the-token"
            body = json.dumps({"roleCredentials": keys}).encode() if is_known else b"{}"
            self.send(200 if is_known else 401, body)

    with serving(Handler) as address:
        yield address, asked


@pytest.mark.parametrize(
    ("variables", "source"),
    [
        ({}, "credential_process of the profile default"),
        ({"AWS_PROFILE": "keys"}, "the profile keys"),
        ({"AWS_DEFAULT_PROFILE": "keys"}, "the profile keys"),
    ],
)
def test_profiles_give_keys_region_and_endpoint(s3: S3, home: Path, variables: dict[str, str], source: str) -> None:
    env = environment(home, **variables)
    assert ok("scan", s3.url("chain/x.csv"), "--count", env=env).out.strip() == "2"
    found = ok("check", s3.url("chain/"), "--json", env=env).json
    assert found["credentials"] == source
    assert found["endpoint"].rstrip("/") == s3.endpoint
    assert s3.secret_key not in json.dumps(found)


def test_keys_of_the_environment_come_before_profiles_and_options_before_them(s3: S3, home: Path) -> None:
    keys = {"AWS_ACCESS_KEY_ID": s3.access_key, "AWS_SECRET_ACCESS_KEY": s3.secret_key}
    env = environment(home, AWS_PROFILE="failing", AWS_REGION="us-east-1", **keys)
    found = ok("check", s3.url("chain/"), "--json", env=env).json
    assert found["credentials"] == "the key aws_access_key_id of the environment"
    named = run("check", s3.url("chain/"), "--json", "--storage-option", "aws_profile=failing", env=env)
    assert named.json["credentials"] == "credential_process of the profile failing"
    assert named.code == 4


def test_single_sign_on(s3: S3, home: Path) -> None:
    now = datetime.now(timezone.utc)
    with portal(s3) as (address, asked):
        env = environment(home, AWS_PROFILE="sso", AWS_ENDPOINT_URL_SSO=address)
        absent = run("scan", s3.url("chain/x.csv"), "--count", "--json", env=env)
        assert "aws sso login --profile sso" in absent.error["advice"]
        store_token(home, now - timedelta(minutes=1))
        expired = run("scan", s3.url("chain/x.csv"), "--count", "--json", env=env)
        assert expired.code == 4
        assert "expired" in expired.error["message"]
        assert "aws sso login --profile sso" in expired.error["advice"]
        assert asked == []
        store_token(home, now + timedelta(hours=1))
        # The keys of the answer have no token of a session: S3 servers for tests know none.
        assert ok("scan", s3.url("chain/x.csv"), "--count", env=env).out.strip() == "2"
        assert asked == ["/federation/credentials?role_name=reader&account_id=123456789012"]


def test_what_is_wrong_is_said(s3: S3, home: Path) -> None:
    for profile, code, says in [
        ("failing", 4, "the program failed"),
        ("nobody", 2, "no profile"),
    ]:
        done = run("scan", s3.url("chain/x.csv"), "--json", env=environment(home, AWS_PROFILE=profile))
        assert done.code == code, done.out
        assert says in done.error["message"]
        assert "hunter2" not in done.out + done.err


def test_requests_without_signature(s3: S3, home: Path) -> None:
    found = run("check", s3.url("chain/"), "--json", env=environment(home, AWS_SKIP_SIGNATURE="true"))
    assert found.json["credentials"] == "none: requests are not signed (aws_skip_signature)"


def test_keys_need_no_file_that_can_not_be_read(s3: S3, home: Path) -> None:
    keys = {"AWS_ACCESS_KEY_ID": s3.access_key, "AWS_SECRET_ACCESS_KEY": s3.secret_key}
    env = {
        **keys,
        "HOME": "/dev/null",
        "AWS_ALLOW_HTTP": "true",
        "AWS_ENDPOINT_URL": s3.endpoint,
        "AWS_REGION": "us-east-1",
    }
    assert ok("scan", s3.url("chain/x.csv"), "--count", env=env).out.strip() == "2"
    (home / ".aws" / "config").write_bytes(b"[default]\nregion = \xff\n")
    assert ok("scan", s3.url("chain/x.csv"), "--count", env={**env, "HOME": str(home)}).out.strip() == "2"
    named = run("scan", s3.url("chain/x.csv"), "--json", env={**env, "HOME": str(home), "AWS_PROFILE": "keys"})
    assert str(home / ".aws" / "config") in named.error["place"]


@pytest.mark.parametrize(
    ("url", "variables", "options", "source"),
    [
        (
            "az://c/x",
            {"AZURE_STORAGE_ACCOUNT_KEY": "a2V5"},
            {"azure_storage_account_name": "a", "azure_storage_sas_token": "sv=1&sig=x"},
            "a shared access signature (azure_storage_sas_token)",
        ),
        (
            "gs://b/x",
            {"GOOGLE_SERVICE_ACCOUNT": "/nowhere.json"},
            {"google_bearer_token": "t"},
            "the token google_bearer_token",
        ),
        (
            "gs://b/x",
            {"STORAGE_EMULATOR_HOST": "127.0.0.1:1"},
            {"google_bearer_token": "t"},
            "the token google_bearer_token",
        ),
        (
            "gs://b/x",
            {"STORAGE_EMULATOR_HOST": "127.0.0.1:1"},
            {},
            "none: requests are not signed (google_skip_signature)",
        ),
        (
            "s3://b/x",
            {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"},
            {
                "aws_container_credentials_full_uri": "http://127.0.0.1:1/credentials",
                "aws_container_authorization_token_file": "/nowhere",
            },
            "the container's credentials",
        ),
        (
            "s3://b/x",
            {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_ROLE_ARN": "arn:aws:iam::1:role/r"},
            {"aws_web_identity_token_file": "/nowhere", "aws_endpoint_url_sts": "http://127.0.0.1:1"},
            "web identity (aws_web_identity_token_file)",
        ),
    ],
)
def test_options_that_say_who_asks_win(
    tmp_path: Path, url: str, variables: dict[str, str], options: dict[str, str], source: str
) -> None:
    """No server is there: only who would ask it is told."""
    nowhere = {
        "retry_time": "0s",
        "azure_storage_endpoint": "http://127.0.0.1:1/a",
        "azure_allow_http": "true",
        "google_allow_http": "true",
        "aws_endpoint_url": "http://127.0.0.1:1",
        "aws_allow_http": "true",
    }
    if "STORAGE_EMULATOR_HOST" not in variables:
        nowhere["google_base_url"] = "http://127.0.0.1:1"
    # Options of another store would be refused.
    of_store = {"az": "azure_", "gs": "google_", "s3": "aws_"}[url.partition(":")[0]]
    nowhere = {name: value for name, value in nowhere.items() if name.startswith(("retry_time", of_store))}
    given = [f"--storage-option={name}={value}" for name, value in (nowhere | options).items()]
    found = run("check", url, "--json", *given, env={"HOME": str(tmp_path), **variables})
    assert found.json["credentials"] == source, found.err
    # Neither the store nor a service that gives credentials is there.
    assert found.code in (4, 8)


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "aws_container_authorization_token_file"),
        ("AWS_WEB_IDENTITY_TOKEN_FILE", "aws_role_arn"),
    ],
)
def test_half_a_source_of_credentials_is_an_error(tmp_path: Path, given: str, missing: str) -> None:
    """The credentials of the machine would take its place."""
    env = {"HOME": str(tmp_path), given: "http://127.0.0.1:1/x", "AWS_ENDPOINT_URL": "http://127.0.0.1:1"}
    done = run("scan", "s3://b/x.csv", "--json", env={**env, "AWS_ALLOW_HTTP": "true", "AWS_ACCESS_KEY_ID": ""})
    assert (done.code, missing in done.error["message"]) == (2, True), done.err
