"""Which files hold keys: by their names in any case, and by what is in them."""

from __future__ import annotations

import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.system.secret_texts import is_key_file, key_in

DRAWN = "".join(random.Random(7).choices(string.ascii_letters + string.digits, k=32))
HEX = "".join(random.Random(7).choices("0123456789abcdef", k=40))


@pytest.mark.parametrize(
    "name",
    """
    .env .ENV .env.local .envrc .env-prod prod.env honestone.env prod.env.local .npmrc .NPMRC .git-credentials service-account.json
    my-service_account.json client_secret_12.json firebase-adminsdk-x1.json key.PEM server.key id_rsa id_ed25519_work id_rsa.bak
    .netrc _netrc .pypirc credentials Credentials.csv credentials.json secrets.yaml db-password.txt api_keys.json rootkey.csv kubeconfig
    kubeconfig.yaml cert.p12 store.JKS vault.kdbx .htpasswd .aws/credentials .aws/config .ssh/config .kube/config a/.Aws/x
    """.split(),
)
def test_names_of_files_that_keys_are_kept_in(name: str) -> None:
    """In any case, and in folders that keys are kept in."""
    assert is_key_file(name.split("/"))


@pytest.mark.parametrize(
    "name",
    """
    environment.py keys.md env.py envelope.json id_rsa.pub secretary.txt passwords.py test_secrets.py suite.yaml README monkey.txt
    keynote.pdf .gitignore .github/workflows/x.yml aws/config ssh.md tokens.py
    """.split(),
)
def test_names_of_other_files(name: str) -> None:
    """Code and prose about keys travel, unless one is in them."""
    assert not is_key_file(name.split("/"))


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN RSA PRIVATE KEY-----\nMII",
        "x = 1\n-----BEGIN PRIVATE KEY-----",
        "-----BEGIN OPENSSH PRIVATE KEY-----",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----",
        "PuTTY-User-Key-File-2: ssh-rsa",
        "//registry/:_authToken=abc",
        "id: AKIA" + "QWERTYUIOP123456",
        "ghp_" + DRAWN,
        "github_pat_" + DRAWN,
        "glpat-" + DRAWN,
        "xoxb-" + DRAWN,
        "see sk-" + DRAWN,
        "sk-ant-" + DRAWN,
        "AIza" + DRAWN + "abc",
        "hf_" + DRAWN,
        "eyJ" + DRAWN + ".eyJ" + DRAWN + "." + DRAWN,
        f"API_KEY={DRAWN}",
        f"export apiKey='{DRAWN}'",
        f'{{"clientSecret": "{DRAWN}"}}',
        f"password: {DRAWN}",
        f"Auth.Token := {HEX}",
        "DATABASE_URL=postgres://u:s3cretPw77xQ@db/x",
    ],
)
def test_contents_with_a_key(text: str) -> None:
    """Wherever it is in a file, in UTF-16 too; the words say the line and not the key."""
    for content in (text.encode(), b"a\nb\n" + text.encode(), text.encode("utf-16")):
        found = key_in(content)
        assert found is not None and DRAWN not in found and HEX not in found


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN PUBLIC KEY-----",
        "the private key is in the vault",
        "api_key = os.environ['API_KEY']",
        "api_key: YOUR-API-KEY-HERE-0000",
        "AKIAIOSFODNN7EXAMPLE",
        "token = get_token_from_somewhere(1)",
        "author: JohnSmith1234567890",
        f"sha256: {HEX}",
        f'"integrity": "sha512-{DRAWN}"',
        "https://example.org:8080/a@b",
        "postgres://user:password@localhost/db",
        "key: value",
        "password: hunter2",
        "max_tokens: 10000000000000000",
        "mask-image: url(x)",
    ],
)
def test_contents_without_one(text: str) -> None:
    """What speaks of keys, or looks a little like one."""
    assert key_in(text.encode()) is None


@given(st.binary(max_size=300))
def test_any_bytes_are_read(content: bytes) -> None:
    """Whatever is in a file."""
    assert key_in(content) is None or isinstance(key_in(content), str)


@given(
    st.sampled_from(["token", "SECRET_KEY", "dbPassword"]),
    st.text(string.ascii_letters + string.digits, min_size=40, max_size=60),
)
def test_what_was_drawn_is_found(name: str, value: str) -> None:
    """A long value with many letters of both cases and digits next to such a name."""
    if len(set(value)) > 20 and any(c.isdigit() for c in value) and any(c.islower() for c in value):
        assert (
            key_in(f"{name}={value}".encode())
            or "example" in value.lower()
            or "xxxx" in value.lower()
        )
