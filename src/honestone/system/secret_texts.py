"""Whether a file holds keys or passwords: by its name in any case, and by what is in it.

A list of names is never complete. So what counts is the content: the head of a private key, the
forms of well-known tokens, and a value that looks drawn at random next to a name that means a key.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

from honestone.core.json_value import late_pattern
from honestone.core.record.secret_names import looks_secret

_ENDINGS: Final = (".pem", ".key", ".p12", ".pfx", ".keystore", ".jks", ".kdbx", ".ppk")
_NAMES: Final = frozenset(
    """
    .netrc _netrc .pgpass pgpass.conf .npmrc .yarnrc .yarnrc.yml .pypirc .git-credentials .htpasswd .dockercfg .dockerconfigjson
    .boto .s3cfg .my.cnf .mylogin.cnf .vault-token .terraformrc auth.json kubeconfig token.json rootkey.csv
    """.split()
)
_ENVIRONMENT: Final = late_pattern(r"\.env.*|.*\.env(?:[.-].*)?")
_SSH: Final = late_pattern(r"id_(?:rsa|dsa|ecdsa|ed25519)(?!.*\.pub$).*")
_WORDS: Final = late_pattern(
    r"(?:^|[^a-z])(?:service[-_. ]?account|client[-_. ]?secrets?|adminsdk|credentials?|secrets?|access[-_. ]?keys?|api[-_. ]?keys?"
    r"|private[-_. ]?keys?|passwords?|kubeconfig)(?:[^a-z]|$)"
)
_DATA: Final = late_pattern(
    r"(?:[^.]*|.*\.(?:json|ya?ml|toml|csv|txt|ini|cfg|conf|xml|properties|plist))"
)
_FOLDERS: Final = frozenset({".aws", ".ssh", ".gnupg", ".azure", ".kube", ".secrets"})
# Bytes that are looked at: keys are in small files, and a large one is data.
MOST_READ: Final = 4_000_000
_MARKS: Final = late_pattern(
    rb"-----BEGIN (?:[A-Z0-9 ]{0,30} )?PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d"
    rb"|_authToken\s*=\s*[^\s$]|\b(?:AKIA|ASIA)[A-Z0-9]{12,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}"
    rb"|\bglpat-[A-Za-z0-9_-]{16,}|\bxox[abprs]-[A-Za-z0-9-]{10,}|\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{20,}|\bAIza[A-Za-z0-9_-]{30,}"
    rb"|\bya29\.[A-Za-z0-9_-]{20,}|\bhf_[A-Za-z0-9]{25,}|\bnpm_[A-Za-z0-9]{30,}|\bpypi-[A-Za-z0-9_-]{30,}|\b[rs]k_live_[A-Za-z0-9]{16,}"
    rb"|\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"
)
# `NAME=value`, `name: value`, `"name": "value"`; in a URL the password.
_PAIR: Final = late_pattern(
    rb"""["']?([A-Za-z_][A-Za-z0-9_.-]{1,60})["']?\s*(?::=|[:=])\s*(?:["']([^"'\s]{8,400})["']|([^\s"'#;,(){}\[\]<>$]{8,400}))"""
)
_IN_ADDRESS: Final = late_pattern(
    rb"[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"'<>{}$]{0,80}:([^\s/@\"'<>{}$]{6,200})@"
)
# Names that only sound so.
_NO_SECRET: Final = late_pattern(
    r"author|keyword|monkey|tokeni[sz]|tokens$|[_-]?ids?$|public|count|length|path$|file$|url$",
    re.IGNORECASE,
)
# Bits a character, below which a value is a word, a path or a number and not drawn at random.
_LEAST_BITS: Final = 3.0
_LEAST_LENGTH: Final = 16
_PLACEHOLDER: Final = late_pattern(
    r"example|placeholder|change[-_]?me|your[-_]|dummy|sample|redacted|xxxx|\*\*\*|\.\.\.|localhost",
    re.IGNORECASE,
)


def is_key_file(parts: Iterable[str]) -> bool:
    """Whether a file of these names, from the folder that travels down to it, is one that keys are
    kept in.
    """
    *folders, name = (part.casefold() for part in parts)
    return (
        name in _NAMES
        or name.endswith(_ENDINGS)
        or any(one.fullmatch(name) is not None for one in (_ENVIRONMENT, _SSH))
        or (_WORDS.search(name) is not None and _DATA.fullmatch(name) is not None)
        or any(folder in _FOLDERS for folder in folders)
    )


def key_in(content: bytes) -> str | None:
    """What of a file's content is a key, in words without it; None where nothing is."""
    if b"\0" in content[:200]:  # UTF-16
        content = content.replace(b"\0", b"")
    marks = (
        mark
        for mark in _MARKS.finditer(content)
        if not _PLACEHOLDER.search(mark[0].decode("latin-1"))
    )
    if (mark := next(marks, None)) is not None:
        return f"line {_line(content, mark)} holds what looks like a private key or a token"
    for mark in _IN_ADDRESS.finditer(content):
        if _is_random(mark[1].decode("latin-1"), least=8):
            return f"line {_line(content, mark)} has an address with a password in it"
    for mark in _PAIR.finditer(content):
        name, value = mark[1].decode("latin-1"), (mark[2] or mark[3]).decode("latin-1")
        if looks_secret(name) and not _NO_SECRET.search(name) and _is_random(value):
            return f"line {_line(content, mark)} gives `{name}` a value that looks like a key"
    return None


def _line(content: bytes, mark: re.Match[bytes]) -> int:
    return content.count(b"\n", 0, mark.start()) + 1


def _is_random(value: str, least: int = _LEAST_LENGTH) -> bool:
    """Letters of both cases with digits, or a long row of hexadecimal digits: as keys are drawn,
    and names and words are not.
    """
    if (
        len(value) < least
        or _PLACEHOLDER.search(value)
        or not re.fullmatch(r"[\w+/=.~!@%^&*-]+", value)
    ):
        return False
    kinds = sum(bool(re.search(kind, value)) for kind in ("[a-z]", "[A-Z]", "[0-9]"))
    if kinds < 2 or not re.search("[0-9]", value):
        return False
    counts = Counter(value)
    bits = -sum(count / len(value) * math.log2(count / len(value)) for count in counts.values())
    return bits >= _LEAST_BITS
