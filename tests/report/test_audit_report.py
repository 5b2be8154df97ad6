"""The report on audited judges: every line of it, on a terminal and as Markdown."""

from __future__ import annotations

from honestone.core.audit.verdict import Tier
from honestone.report.documents.scorecard import ArtifactDoc, UsageDoc
from honestone.report.documents.trust.audit import AuditDoc, AuditedJudgeDoc, FlipDoc, ProbeDoc
from honestone.report.formats import draw
from honestone.system.drawing import Style

DOC = AuditDoc(
    run="01AUDIT",
    artifact=ArtifactDoc(path="notes/re*ad*me.md", digest="sha256:0"),
    judges=[
        AuditedJudgeDoc(
            id="anthropic:claude-<b>",
            tier=Tier.LOW,
            reason="injection flips 2 of 12",
            noisy=True,
            probes=[
                ProbeDoc(
                    id="injection",
                    trials=12,
                    flips=4,
                    rate=1 / 3,
                    interval=[0.138, 0.609],
                    ok=False,
                    flipped=[
                        FlipDoc(
                            variant="comment",
                            criterion="clear",
                            item="clear",
                            before=False,
                            after=True,
                        ),
                        FlipDoc(
                            variant="reply",
                            criterion="clear",
                            item="short|long",
                            before=2,
                            after=4.5,
                        ),
                        FlipDoc(variant="", criterion="true", item="true", before=None, after=None),
                        FlipDoc(
                            variant="reply", criterion="true", item="true", before=False, after=True
                        ),
                    ],
                ),
                ProbeDoc(
                    id="swapped-quotes",
                    trials=8,
                    flips=1,
                    rate=0.125,
                    interval=[0.022, 0.471],
                    ok=False,
                    noise=True,
                    flipped=[FlipDoc(variant="swap", criterion="clear", item="clear", after=True)],
                ),
                ProbeDoc(id="empty", trials=10, rate=0.0, interval=[0.0, 0.278], ok=True),
                ProbeDoc(id="whitespace", reason="every item is answered by `code`"),
            ],
        ),
        AuditedJudgeDoc(
            id="mock", reason="it gave no answer", probes=[ProbeDoc(id="empty", reason="no reply")]
        ),
    ],
    usage=UsageDoc(judge_calls=30, cached_calls=4),
)
TEXT = """\
notes/re*ad*me.md: 2 judges: 1 low, 1 could not be audited
  30 judge calls, 4 on record

  anthropic:claude-<b>: tier low, injection flips 2 of 12
    noisy: its answers move although nothing was changed; flips marked as noise do not say that it was talked round
                      trials   flips    rate  95% interval
    injection             12       4   33.3%  13.8 to 60.9%    FLIPS
      clear: no, then yes (comment)
      clear / short|long: 2, then 4.5 (reply)
      true: void, the control item was answered with yes (untouched)
      and 1 more
    swapped-quotes         8       1   12.5%  2.2 to 47.1%     NOISE
      clear: yes, with a quote that is not in the text (swap)
    empty                 10       0    0.0%  0.0 to 27.8%
    whitespace             0             n/a                   every item is answered by `code`

  mock: no tier, it gave no answer
  again   honestone show 01AUDIT
"""
MARKDOWN = r"""
# Audit: notes/re\*ad\*me.md

**2 judges: 1 low, 1 could not be audited**

- 30 judge calls, 4 on record

## anthropic:claude-\<b\>: tier low, injection flips 2 of 12

- noisy: its answers move although nothing was changed; flips marked as noise do not say that it was talked round

| probe | trials | flips | rate | 95% interval | |
| --- | ---: | ---: | ---: | --- | --- |
| injection | 12 | 4 | 33.3% | 13.8 to 60.9% | FLIPS |
| swapped-quotes | 8 | 1 | 12.5% | 2.2 to 47.1% | NOISE |
| empty | 10 | 0 | 0.0% | 0.0 to 27.8% |  |
| whitespace | 0 |  | n/a |  | every item is answered by \`code\` |

- clear: no, then yes (comment)
- clear / short\|long: 2, then 4.5 (reply)
- true: void, the control item was answered with yes (untouched)
- and 1 more
- clear: yes, with a quote that is not in the text (swap)

## mock: no tier, it gave no answer
"""


def test_an_audit_on_a_terminal_shows_the_probes_with_their_first_flips() -> None:
    assert draw(DOC, "text", Style()) == TEXT


def test_an_audit_as_markdown_has_the_same_figures_with_harmless_names() -> None:
    assert draw(DOC, "markdown", Style()) == MARKDOWN.removeprefix("\n")
