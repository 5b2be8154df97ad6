"""Own suites in AgentV's fourth dialect, for a comparison of honestone with the real AgentV.

A case's output is what follows `OUT:` in its input. A judge says yes where a question has the word
YES in it, and gives the number of `SCORE=N` where marks are asked for. `DIFFERENCES` are the cases
that the two tools are known to score in different ways, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

SUITES: Final[Mapping[str, str]] = {
    "contains": """
tests:
  - {id: all, input: "x OUT: moss and fern", assertions: [{type: contains, value: moss}, {type: contains, value: fern}]}
  - {id: half, input: "x OUT: moss", assertions: [{type: contains, value: moss}, {type: contains, value: fern}]}
  - {id: case, input: "x OUT: Moss", assertions: [{type: contains, value: moss}, {type: icontains, value: moss}]}
""",
    "contains-lists": """
tests:
  - id: a
    input: "x OUT: Moss and fern"
    assertions:
      - {type: contains-any, value: [lichen, fern]}
      - {type: contains-all, value: [Moss, fern]}
      - {type: contains-all, value: [moss, fern]}
      - {type: icontains-any, value: [LICHEN, MOSS]}
      - {type: icontains-all, value: [MOSS, FERN]}
      - {type: icontains-all, value: [MOSS, lichen]}
""",
    "ends": """
tests:
  - id: a
    input: "x OUT:   moss and fern  "
    assertions:
      - {type: starts-with, value: moss}
      - {type: starts-with, value: fern}
      - {type: ends-with, value: " fern "}
      - {type: ends-with, value: moss}
      - {type: equals, value: moss and fern}
      - {type: equals, value: Moss and fern}
""",
    "regex": """
tests:
  - id: a
    input: "x OUT: moss 12\\nFern 7"
    assertions:
      - {type: regex, value: "\\\\d{2}"}
      - {type: regex, value: "^fern", flags: im}
      - {type: regex, value: "^fern"}
      - {type: regex, value: "(?<word>moss) \\\\d+"}
      - {type: regex, value: "moss.*Fern", flags: s}
      - {type: regex, value: "moss.*Fern"}
""",
    "is-json": """
tests:
  - {id: object, input: 'x OUT: {"a": 1}', assertions: [{type: is-json}]}
  - {id: broken, input: 'x OUT: {"a": 1', assertions: [{type: is-json}]}
  - {id: number, input: "x OUT: 12", assertions: [{type: is-json}]}
  - {id: words, input: "x OUT: moss", assertions: [{type: is-json}]}
""",
    "negate": """
tests:
  - id: a
    input: "x OUT: moss"
    assertions:
      - {type: contains, value: fern, negate: true}
      - {type: contains, value: moss, negate: true}
      - {type: regex, value: m.ss, negate: true}
      - {name: n, type: llm-grader, prompt: "Is it good? SCORE=0.25", negate: true}
""",
    "weights": """
tests:
  - {id: a, input: "x OUT: moss", assertions: [{type: contains, value: moss, weight: 3}, {type: contains, value: fern, weight: 0.5}]}
  - {id: zero, input: "x OUT: moss", assertions: [{type: contains, value: moss}, {type: contains, value: fern, weight: 0}]}
""",
    "threshold": """
execution: {target: cand, threshold: 0.5}
tests:
  - {id: above, input: "x OUT: moss", assertions: [{type: contains, value: moss}, {type: contains, value: fern}]}
  - {id: own, input: "x OUT: moss", execution: {threshold: 0.6}, assertions: [{type: contains, value: moss}, {type: contains, value: fern}]}
""",
    "threshold-at-the-top": """
threshold: 0.5
tests:
  - {id: a, input: "x OUT: moss", assertions: [{type: contains, value: moss}, {type: contains, value: fern}]}
""",
    "threshold-exact": """
tests:
  - id: a
    input: "x OUT: moss"
    assertions: [{type: contains, value: moss, weight: 4}, {type: contains, value: fern}]
  - id: b
    input: "x OUT: moss"
    assertions: [{type: contains, value: moss, weight: 3.99}, {type: contains, value: fern}]
""",
    "required": """
tests:
  - {id: met, input: "x OUT: moss", assertions: [{type: contains, value: moss, required: true, weight: 9}, {type: contains, value: fern}]}
  - {id: missed, input: "x OUT: moss", assertions: [{type: contains, value: moss, weight: 9}, {type: contains, value: fern, required: true}]}
  - {id: number, input: "x OUT: moss", assertions: [{type: contains, value: moss, weight: 9}, {name: j, type: llm-grader, prompt: "good? SCORE=0.5", required: 0.4}]}
  - {id: number-missed, input: "x OUT: moss", assertions: [{type: contains, value: moss, weight: 9}, {name: j, type: llm-grader, prompt: "good? SCORE=0.5", required: 0.6}]}
""",
    "min-score": """
tests:
  - {id: alone, input: "x OUT: moss", assertions: [{type: contains, value: moss, weight: 9}, {name: j, type: llm-grader, prompt: "good? SCORE=0.5", min_score: 0.6}]}
  - {id: required, input: "x OUT: moss", assertions: [{type: contains, value: moss, weight: 9}, {name: j, type: llm-grader, prompt: "good? SCORE=0.5", min_score: 0.6, required: true}]}
  - {id: reached, input: "x OUT: moss", assertions: [{type: contains, value: moss, weight: 9}, {name: j, type: llm-grader, prompt: "good? SCORE=0.5", min_score: 0.5, required: true}]}
""",
    "goal-alone": """
tests:
  - {id: good, criteria: "Is good SCORE=0.9", input: "x OUT: moss"}
  - {id: bad, criteria: "Is good SCORE=0.7", input: "x OUT: moss"}
""",
    "free-form": """
tests:
  - id: a
    criteria: Is good
    input: "x OUT: moss"
    assertions:
      - {name: one, type: llm-grader, prompt: "Is it short? SCORE=1"}
      - {name: two, type: llm-grader, prompt: "Is it kind? SCORE=0.35", weight: 2}
""",
    "rubrics": """
tests:
  - id: all
    input: "x OUT: moss"
    assertions:
      - {type: rubrics, criteria: [{id: a, outcome: Is short YES, weight: 2}, {id: b, outcome: Is kind YES}]}
  - id: optional
    input: "x OUT: moss"
    assertions:
      - {type: rubrics, criteria: [{id: a, outcome: Is short YES, weight: 7}, {id: b, outcome: Is kind NO, weight: 1, required: false}]}
  - id: mixed
    input: "x OUT: moss"
    assertions:
      - {type: rubrics, criteria: [{id: a, outcome: Is short YES}, {id: b, outcome: Is kind NO, required: false}]}
      - {type: contains, value: moss}
""",
    "rubrics-required": """
tests:
  - id: masked
    input: "x OUT: moss"
    assertions:
      - {type: rubrics, criteria: [{id: a, outcome: Is short YES, weight: 9}, {id: b, outcome: Is kind NO, weight: 1, required: true}]}
""",
    "strings": """
tests:
  - {id: a, input: "x OUT: moss", assertions: [Is short YES, {type: contains, value: moss}, Is kind YES]}
  - {id: b, input: "x OUT: moss", assertions: [{type: contains, value: moss}, Is kind NO]}
""",
    "inline-rubrics": """
tests:
  - {id: a, criteria: g, input: "x OUT: moss", rubrics: [Is short YES, Is kind YES]}
  - {id: b, criteria: g, input: "x OUT: moss", rubrics: [{id: s, outcome: Is short YES}], assertions: [{type: contains, value: fern}]}
""",
    "score-ranges": """
tests:
  - id: a
    input: "x OUT: moss"
    assertions:
      - {name: r, type: rubrics, criteria: [{id: tone, outcome: Tone SCORE=8, score_ranges: {0: rude, 5: dry, 8: warm}}]}
  - id: two
    input: "x OUT: moss"
    assertions:
      - name: r
        type: rubrics
        criteria:
          - {id: tone, outcome: Tone SCORE=10, weight: 3, score_ranges: {0: rude, 5: dry, 8: warm}}
          - {id: care, outcome: Care SCORE=5, score_ranges: {0: none, 5: some, 8: much}}
""",
    "composite": """
tests:
  - id: weighted
    input: "x OUT: moss"
    assertions:
      - name: group
        type: composite
        assertions: [{name: m, type: contains, value: moss}, {name: f, type: contains, value: fern}]
        aggregator: {type: weighted_average, weights: {m: 9, f: 1}}
  - id: alike
    input: "x OUT: moss"
    assertions:
      - name: group
        type: composite
        assertions: [{name: m, type: contains, value: moss, weight: 9}, {name: f, type: contains, value: fern}]
        aggregator: {type: weighted_average}
""",
    "composite-threshold": """
tests:
  - id: a
    input: "x OUT: moss"
    assertions:
      - name: group
        type: composite
        assertions: [{name: m, type: contains, value: moss}, {name: f, type: contains, value: fern}]
        aggregator: {type: threshold, threshold: 0.5}
      - {type: contains, value: moss}
""",
    "file-graders": """
assertions: [{type: contains, value: moss}]
tests:
  - {id: added, input: "x OUT: moss", assertions: [{type: contains, value: fern}]}
  - {id: alone, criteria: g, input: "x OUT: moss"}
  - {id: skipped, input: "x OUT: moss", execution: {skip_defaults: true}, assertions: [{type: contains, value: fern}]}
""",
    "variables": """
tests:
  - id: a
    vars: {word: moss, who: {name: fern}}
    input: "x OUT: {{ word }} {{ who.name }} {{word}}"
    assertions: [{type: equals, value: moss fern moss}]
  - id: goal
    vars: {word: moss}
    criteria: "Is {{ word }} SCORE=0.85"
    input: "x OUT: {{ word }}"
""",
    "messages": """
input: [{role: user, content: "Be brief."}]
tests:
  - id: a
    input: [{role: user, content: "x"}, {role: user, content: "OUT: moss"}]
    assertions: [{type: contains, value: moss}]
  - id: b
    input: {type: question, text: "OUT: moss"}
    assertions: [{type: contains, value: moss}]
""",
    "conversation": """
tests:
  - id: turns
    mode: conversation
    input: [{role: system, content: Be brief.}]
    turns:
      - {input: "x OUT: moss", assertions: [{type: contains, value: moss}]}
      - {input: "y OUT: fern", assertions: [{type: contains, value: fern}, {type: contains, value: moss}]}
      - {input: "z OUT: lichen"}
  - id: whole
    mode: conversation
    input: [{role: system, content: Be brief.}]
    turns:
      - {input: "x OUT: moss", assertions: [{type: equals, value: moss}]}
      - {input: "y OUT: fern", assertions: [{type: contains, value: lichen, negate: true}]}
    assertions: [{type: contains, value: "assistant: moss"}, {type: contains, value: "user: y OUT: fern"}, {type: contains, value: lichen}]
  - id: judged
    mode: conversation
    input: [{role: system, content: Be brief.}]
    turns:
      - {input: "x OUT: moss", assertions: [Is short YES, Is kind NO]}
""",
    "field-accuracy": """
tests:
  - id: a
    input: 'x OUT: {"name": "moss", "size": 10.4, "day": "2026-01-02"}'
    expected_output: {name: moss, size: 10, day: 02-JAN-2026}
    assertions:
      - name: f
        type: field-accuracy
        fields:
          - {path: name, match: exact, weight: 2}
          - {path: size, match: numeric_tolerance, tolerance: 0.5}
          - {path: day, match: date, formats: [DD-MMM-YYYY, YYYY-MM-DD]}
  - id: half
    input: 'x OUT: {"name": "fern", "size": 10}'
    expected_output: {name: moss, size: 10}
    assertions:
      - {name: f, type: field-accuracy, fields: [{path: name, match: exact}, {path: size, match: exact}]}
""",
    "code-grader": """
tests:
  - {id: met, input: "x OUT: moss", assertions: [{name: c, type: code-grader, command: [python3, grade.py, "1"]}]}
  - {id: missed, input: "x OUT: moss", assertions: [{name: c, type: code-grader, command: [python3, grade.py, "0"]}, {type: contains, value: moss}]}
  - {id: part, input: "x OUT: moss", assertions: [{name: c, type: code-grader, command: [python3, grade.py, "0.5"]}, {type: contains, value: moss}]}
""",
    "code-grader-exit": """
tests:
  - {id: zero, input: "x OUT: moss", assertions: [{name: c, type: code-grader, command: [python3, -c, "pass"]}]}
  - {id: one, input: "x OUT: moss", assertions: [{name: c, type: code-grader, command: [python3, -c, "raise SystemExit(1)"]}]}
""",
    "code-grader-words": """
tests:
  - {id: fine, input: "x OUT: moss", assertions: [{name: c, type: code-grader, command: [python3, -c, "print('fine')"]}]}
  - {id: bad, input: "x OUT: moss", assertions: [{name: c, type: code-grader, command: [python3, -c, "print('bad'); raise SystemExit(1)"]}]}
""",
    "strange-keys": """
owner: shop
tests:
  - {id: a, input: "x OUT: moss", task: t, mustMention: [fern], assertions: [{type: contains, value: moss}]}
""",
    "depends-on": """
tests:
  - {id: last, input: "x OUT: moss", depends_on: [middle], assertions: [{type: contains, value: moss}]}
  - {id: middle, input: "x OUT: moss", depends_on: [first], assertions: [{type: contains, value: moss}]}
  - {id: first, input: "x OUT: moss", assertions: [{type: contains, value: fern}]}
""",
    "include": """
tests:
  - {id: a, input: "x OUT: moss", assertions: [{include: ./shared.yaml}, {type: contains, value: fern}]}
""",
    "cases-in-a-file": """
tests: ./more.yaml
""",
    "cases-by-pattern": """
tests: ["file://cases/*.yaml", {id: z, input: "x OUT: moss", assertions: [{type: contains, value: moss}]}]
""",
    "cases-in-folders": """
tests: ./folders
""",
    "left-out": """
tests:
  - {id: no-input, criteria: g}
  - {id: a, input: "x OUT: moss", assertions: [{type: contains, value: moss}]}
""",
    "unicode": """
tests:
  - {id: a, input: "x OUT: Straße, 苔 and İ", assertions: [{type: icontains, value: STRASSE}, {type: contains, value: 苔}, {type: icontains, value: straße}]}
  - {id: b, input: "x OUT: ÉTÉ", assertions: [{type: icontains, value: été}, {type: regex, value: "^\\\\w+$"}]}
""",
}

REASONS: Final[Mapping[str, str]] = {
    "file-threshold": "`execution.threshold` of a file",
    "failed-required": "The score of a case with a required grader that failed",
    "required-criterion": "A required criterion of a rubric",
    "letters": "Letters in any case",
}
"""How docs/from-agentv.md begins its explanation of each known difference."""

DIFFERENCES: Final[Mapping[tuple[str, str], str]] = {
    ("threshold", "above"): "file-threshold",
    ("required", "missed"): "failed-required",
    ("required", "number-missed"): "failed-required",
    ("min-score", "required"): "failed-required",
    ("rubrics-required", "masked"): "required-criterion",
    ("unicode", "a"): "letters",
}

FILES: Final[Mapping[str, str]] = {
    "cand.py": "import sys\ntext = open(sys.argv[1], encoding='utf-8').read().rpartition('OUT:')[2].strip()\nopen(sys.argv[2], 'w', encoding='utf-8').write(text)\n",
    "grade.py": "import json, sys\njson.load(sys.stdin)\nprint(json.dumps({'score': float(sys.argv[1]), 'assertions': []}))\n",
    "shared.yaml": "assertions: [{type: contains, value: moss}]\n",
    "more.yaml": '- {id: a, input: "x OUT: moss", assertions: [{type: contains, value: moss}]}\n',
    "cases/b.yaml": '- {id: b, input: "x OUT: moss", assertions: [{type: contains, value: fern}]}\n',
    "cases/a.yaml": '- {id: a, input: "x OUT: moss", assertions: [{type: contains, value: moss}]}\n',
    "folders/two/case.yaml": 'input: "x OUT: moss"\nassertions: [{type: contains, value: fern}]\n',
    "folders/one/case.yaml": 'input: "x OUT: moss"\nassertions: [{type: contains, value: moss}]\n',
    "agentv_judge.py": """\
import json, re, sys
prompt = open(sys.argv[1], encoding='utf-8').read()
number = lambda text: float((re.search(r'SCORE=([0-9.]+)', text) or [0, '0'])[1].rstrip('.'))
yes = lambda text: 'YES' in text
ranges = re.findall(r'### Criterion: (\\S+)[^\\n]*\\nDescription: (.*)', prompt)
checks = re.findall(r'^- \\[([^\\]]+)\\][^:\\n]*(?:\\(weight: [0-9.]+\\))?: (.*)$', prompt, re.M)
if ranges:
    reply = {'checks': [{'id': id, 'score': number(text), 'reasoning': 'r'} for id, text in ranges], 'overall_reasoning': 'r'}
elif checks:
    reply = {'checks': [{'id': id, 'satisfied': yes(text), 'reasoning': 'r'} for id, text in checks], 'overall_reasoning': 'r'}
else:
    goal = prompt.partition('[[ ## criteria ## ]]')[2].partition('[[ ##')[0]
    reply = {'score': number(goal), 'assertions': [{'text': 'x', 'passed': True}]}
open(sys.argv[2], 'w', encoding='utf-8').write(json.dumps(reply))
""",
    "our_judge.py": """\
import json, re, sys
prompt = sys.stdin.read()
form = json.loads(prompt[prompt.rindex('{"token"'):])
asked = dict(re.findall(r'^\\[(\\d+)\\] (.*)$', prompt, re.M))
for number, answer in form['answers'].items():
    mark = re.search(r'SCORE=([0-9.]+)', asked[number])
    answer['answer'] = float(mark[1].rstrip('.')) if mark else 'YES' in asked[number]
print(json.dumps(form))
""",
    "../.agentv/targets.yaml": """\
targets:
  - {name: cand, provider: cli, command: "python3 cand.py {PROMPT_FILE} {OUTPUT_FILE}", grader_target: judge}
  - {name: judge, provider: cli, command: "python3 agentv_judge.py {PROMPT_FILE} {OUTPUT_FILE}"}
""",
}
