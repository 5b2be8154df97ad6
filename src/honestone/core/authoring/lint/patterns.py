"""Parts of the patterns that read wordings. Patterns ignore case."""

from __future__ import annotations

from typing import Final

HAS: Final = (
    "(?:(?:it |there )?(?:has|have|contains?|includes?|holds?|shows?|gives?|provides?|"
    "uses?|there (?:is|are)|is there|comes with|features?)(?: at least one)?) "
)
NO: Final = (
    r"(?:(?:(?:has|have|contains?|includes?|holds?|leaves?|there (?:is|are)|uses?|is|"
    r"are)\s+)?(?:no|not contain(?:s|ing)?(?: any)?|free (?:of|from)(?: any)?|"
    r"without(?: any)?|zero)|(?:(?:does|do) not|doesn['’]t|don['’]t|not) (?:contain|"
    r"have|include|hold|use)(?: any)?|avoids?(?: any)?|never (?:uses?|contains?|"
    r"includes?)(?: any)?) "
)
QUOTE: Final = r"[\"“'`「](?P<quote>[^\"”'`」]+)[\"”'`」]"
WORDS_UNIT: Final = "words?(?: long| in total| or (?:less|fewer))?"
CHARS_UNIT: Final = "(?:characters?|chars?)(?: long| in total| or (?:less|fewer))?"
LENGTH: Final = (
    "(?:is |are |be |stays? |keeps? |remains? |has |have |contains? |uses? |the length "
    "is |length is )?(?:kept |limited to |about )?"
)
A: Final = "(?:an? |the |one |some )?"
MOST: Final = r"(?:at most|no more than|not more than|up to|a maximum of|maximum|max\.?|<=|within)"
UNDER: Final = "(?:under|fewer than|less than|below|shorter than|<)"
LEAST: Final = r"(?:at least|no fewer than|no less than|a minimum of|minimum|min\.?|>=)"
OVER: Final = "(?:over|more than|longer than|above|>)"
NUMBER: Final = r"(?P<number>\d[\d,]*)"
PEOPLE: Final = (
    "(?:users?|readers?|customers?|clients?|people|audiences?|stakeholders|developers|"
    "students|employees|visitors)"
)
MAKER: Final = (
    "(?:authors?|writers?|creators?|developers?|designers?|students?|candidates?|"
    "teams?|engineers?|contributors?)"
)
NOT: Final = r"(?:not|never|cannot|\w+n['’]t)"
WITHIN: Final = r"(?:(?!\b(?:and|but|or|that|which|who|because|if|when)\b|[,;:.(/]).){0,40}?"
NEGATIVE_VERB: Final = (
    "(?:lack(?:s|ing|ed)?|miss(?:es|ed)?|omit(?:s|ted|ting)?|fail(?:s|ed|ing)? to|"
    "forget(?:s|ting)?|neglect(?:s|ed|ing)?|exclude[sd]?|excluding|leave[s]? out|"
    "avoid(?:s|ed|ing)?|missing|absent|devoid|ignore[sd]?)"
)
NEGATIVE_ADJECTIVE: Final = (
    r"(?:un(?!i|der|til|less|ion)\w{4,}|in(?:accurate|complete|correct|consistent|valid|"
    r"appropriate|sufficient|visible|secure|adequate|effective|efficient|coherent|"
    r"comprehensible)|im(?:possible|proper|precise|polite|plausible)|ir(?:relevant|"
    r"regular|responsible)|il(?:legal|legible|logical)|dis(?:honest|organi[sz]ed|"
    r"respectful|similar)|non-?\w{4,})"
)
