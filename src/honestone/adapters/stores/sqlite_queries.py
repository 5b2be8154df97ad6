"""What a SQLite store asks its file, statement by statement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from honestone.adapters.stores import stored
from honestone.ports import StoreTable

SELECT: Final = f"select {stored.COLUMNS} from runs"
# Of a store that was made before runs said for which project they are, and that cannot be written
# to.
OLD_SELECT: Final = SELECT.replace("project, person", "null, null")
LEFT: Final = (
    "select run, data from events where run >= ?1 and run < ?1 || char(1114111) and seq = 1"
    " and not exists (select 1 from runs where id = run) limit 5"
)
EVENTS: Final = "select seq, data from events where run = ? and seq > ? order by seq"
APPEND: Final = (
    "insert into events (run, seq, data, once) select ?1, coalesce(max(seq), 0) + 1, ?2, ?3 from events where run = ?1 "
    "on conflict (run, once) where once is not null do nothing"
)
STORED_ONCE: Final = "select seq, data from events where run = ? and once = ?"
CASES: Final = "select data from cases where run = ? and number > ? order by number"
CASE: Final = "select data from cases where run = ? and id = ? order by number"
# The line whose end is the last time at which any slot was taken; no account is called so.
CLOCK: Final = ""
# Seconds by which a clock may be put back without having been wrong.
SAME_TIME: Final = 2.0
TAKE_SLOT: Final = (
    "insert into rates (account, at) values (?1, ?2 + ?3) "
    "on conflict (account) do update set at = max(at, ?2) + ?3 returning at"
)
OPEN_GRANTS: Final = (
    "insert into grants (run, calls, usd, dearest, at) values (?1, ?2, ?3, ?4, ?5) on conflict (run) do update"
    " set calls = max(calls, ?2), usd = max(usd, ?3), dearest = max(dearest, ?4), at = coalesce(at, ?5)"
    " returning calls, usd, dearest, ?5 - at"
)
GRANT: Final = (
    "update grants set calls = calls + ?2, usd = usd + ?3, dearest = max(dearest, ?4)"
    " where run = ?1 and (?5 is null or calls + ?2 <= ?5) and (?6 is null or usd + ?3 <= ?6)"
    " returning calls, usd, dearest, ?7 - at"
)
KEEP_REPLY: Final = (
    "insert into replies (key, judge, at, data) select ?1, ?2, ?3, ?4"
    " where ?5 is null or (select count(*) from replies where key = ?1) <= ?5"
)
SOME: Final = "select seq, data from events where run = ? and seq in"
ORDER: Final = {"events": "run, seq", "cases": "run, number", "replies": "id", "blobs": "digest"}
ADD: Final[Mapping[StoreTable, str]] = {
    "runs": f"insert into runs ({stored.COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (id) do update"
    " set finished = excluded.finished, result = excluded.result"
    " where runs.finished is null and excluded.finished is not null",
    "events": "insert into events (run, seq, data, once) values (?, ?, ?, ?) on conflict do nothing",
    "cases": "insert into cases (run, number, id, data) values (?, ?, ?, ?) on conflict do nothing",
    "replies": "insert into replies (key, judge, at, data) select ?1, ?2, ?3, ?4"
    " where not exists (select 1 from replies where (key, judge, at, data) = (?1, ?2, ?3, ?4))",
    "blobs": "insert into blobs (digest, data) values (?, ?) on conflict do nothing",
}
