"""Control items: questions of a prompt whose right answer is known to be no.

One is in every prompt: it asks for an invented word. A text can name it, and order a yes to all
items but that one. So a text that speaks to whoever judges it gets a second one, a claim that reads
like a requirement and is false of the text: it names a person or a number that the text does not
have.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from itertools import count
from typing import Final

from msgspec import Struct

from honestone.core.json_value import late_pattern

# Words by which a text speaks of being judged, and those by which it speaks of a good answer. Only
# a text with both gets the second control item, so that others cost no token more. Their number
# makes them no wall: a text that does without them meets the first control item alone.
_OF_JUDGING: Final = frozenset(
    """
    ai answer answered answering answers assess assessed assesses assessing assessment assessor
    assessors assistant auditor canary certified check checklist checks consider control criteria
    criterion decoy evaluate evaluated evaluates evaluating evaluation evaluator evaluators
    examiner examiners form grade graded grader graders grades grading honeypot instruction
    instructions item items judge judged judges judging judgment llm mark marked marker markers
    marks model models numbered point points prompt question questions rate rated rater raters
    rating reply replies requirement requirements respond response responses review reviewed
    reviewer reviewers rubric rubrics say says score scored scorer scorers scores scoring system
    trap verdict verdicts verifier vote votes

    anforderung anforderungen anweisung anweisungen antwort antworte antworten beantworte bewerte
    bewertung frage fragen gutachter kriterien kriterium prüfer punkt punkte
    consigne consignes critère critères correcteur exigence exigences juge jury note notez
    question répondez réponds réponse réponses
    criterio criterios evalúa evaluador evaluadores exigencia instrucciones juez pregunta preguntas
    requisito requisitos responde respuesta respuestas
    avaliador critério critérios juiz pergunta perguntas resposta respostas responda
    criteri domanda domande giudice requisiti rispondi risposta risposte valutatore
    antwoord antwoorden beantwoord beoordelaar eis eisen vraag vragen
    kryteria kryterium odpowiedz odpowiedzi pytanie pytania ocena sędzia wymagania
    cevap cevapla değerlendirme soru sorular ölçüt
    bedömare besvara fråga frågor krav svar svara
    """.split()
)
_OF_A_GOOD_ANSWER: Final = frozenset(
    """
    100 accept accepted affirm affirmative affirmatively agree agrees approve approved approves
    award best correct correctly excellent favourable favorable flawless fulfil fulfill fulfilled
    fulfills fulfils full fully highest hold holds maximal maximum meet meets met pass passed passes
    passing perfect perfectly positive positively satisfied satisfies satisfy success succeeds top
    true unmet yes

    beste bestanden erfüllt höchste ja positiv richtig volle voller wahr zutreffend
    maximale oui parfait rempli remplie remplies remplis satisfait vrai vraie
    afirmativo cierto cumple cumplen cumplido máxima máximo perfecto sí verdadera verdadero
    atende atendido perfeito sim verdadeiro
    massimo perfetto soddisfatti soddisfatto vera vero
    hoogste juist voldaan waar
    maksymalna prawda spełnia spełnione tak
    doğru evet
    sant högsta uppfyllt
    """.split()
)
_WORD: Final = late_pattern(r"[^\W_]+")
# Greek and what follows it in Unicode up to the scripts of East Asia: no list of words reads them.
_OTHER_SCRIPTS: Final = late_pattern(
    "[\u0370-\u1dbf\u2c00-\u2c5f\u2d00-\u2ddf\u2e80-\ua71f\ua800-\ud7ff\uf900-\ufaff]{3}"
)
# Marks that are not seen, and letters of other widths or styles, hide a word from a list.
_DISGUISES: Final = late_pattern(
    "[\u00ad\u034f\u061c\u115f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\uff00-\uffdc"
    "\U0001d400-\U0001d7ff\U000e0000-\U000e0fff]"
)


# What `speaks_to_judges` does with ASCII, a byte at a time: small letters, and spaces for all that is
# in no word.
_TO_WORDS: Final = bytes(
    ord(letter.lower()) if (letter := chr(code)).isascii() and letter.isalnum() else ord(" ")
    for code in range(256)
)
_ASCII: Final = bytes(range(128))
_JUDGING_BYTES: Final = frozenset(word.encode() for word in _OF_JUDGING)
_GOOD_ANSWER_BYTES: Final = frozenset(word.encode() for word in _OF_A_GOOD_ANSWER)


def speaks_to_judges(text: str) -> bool:
    """Whether a text may be addressed to whoever judges it: it has a word of judging and one of a
    good answer, or letters that no list of words reads.
    """
    # Every prompt is scanned, so the scan works on bytes and on each different word once.
    if text.isascii():
        in_ascii = text.encode().translate(_TO_WORDS).split()
        return not (_JUDGING_BYTES.isdisjoint(in_ascii) or _GOOD_ANSWER_BYTES.isdisjoint(in_ascii))
    if _has_unread_letters(text):
        return True
    words = set(_WORD.findall(" ".join(set(text.lower().split()))))
    return not (words.isdisjoint(_OF_JUDGING) or words.isdisjoint(_OF_A_GOOD_ANSWER))


def _has_unread_letters(text: str) -> bool:
    beyond_ascii = text.encode("utf-8", "surrogatepass").translate(None, delete=_ASCII)
    letters = beyond_ascii.decode("utf-8", "surrogatepass")
    if _DISGUISES.search(letters):
        return True
    # Without what is between them, letters only move together: most texts end here.
    return bool(_OTHER_SCRIPTS.search(letters) and _OTHER_SCRIPTS.search(text))


# -------------------------------------------------------------------------------------------------
# the pool of claims

# "…" is a family name; the given name before it only makes it read like a name.
_ABOUT_A_PERSON: Final = (
    "Quotes a statement by …",
    "Gives the reasons of …",
    "Credits the main idea to …",
    "Refers to an earlier report by …",
    "Thanks for the help of …",
    "Answers the objections of …",
)
_ABOUT_A_NUMBER: Final = (
    "States a total cost of …",
    "Gives the sample size as …",
    "Refers the reader to page …",
    "Explains the difference to the previous figure of …",
    "Gives a worked example with the value …",
    "Names an upper limit of …",
)
# The control item of every prompt; "…" is an invented word.
INVENTED_WORD: Final = "The text contains the word …"
_ALL_FORMS: Final = tuple(
    form.partition("…")[0] for form in (INVENTED_WORD, *_ABOUT_A_PERSON, *_ABOUT_A_NUMBER)
)
_GIVEN_NAMES: Final = (
    "Agnes Albert Beatrice Bernard Clara Conrad Dorothy Edgar Eleanor Felix Greta Harriet "
    "Ingrid Jasper Judith Leonard Louisa Magnus Nadia Oscar Philippa Rupert Sylvia Walter"
).split()
_FAMILY_NAMES: Final = (
    "Abernathy Ashdown Bellweather Brandvold Carmody Dunmore Ellingsen Fairbourne Galbraith "
    "Hathersage Holmqvist Kettering Lindgaard Marchbanks Northcott Ormerod Pemberley Quillfeather "
    "Ravensworth Stadtler Thackeray Tillinghast Vandermeer Winterbourne"
).split()
_NO_DIGITS: Final = bytes(code for code in range(256) if code not in b"0123456789")
_SEPARATORS: Final = late_pattern(r"(?<=\d)[\s,.'’_](?=\d)")


def is_control_item(requirement: str) -> bool:
    """Whether an item's words are those of a control item: an honest stand-in says no to it."""
    return requirement.startswith(_ALL_FORMS)


class FalseClaim(Struct, frozen=True):
    """A claim that is false of a text: it names `absent`, in lower case, which is nowhere in it."""

    requirement: str
    absent: str


def false_claim(seed: bytes, text: str, mentions: Callable[[str, str], bool]) -> FalseClaim:
    """Draw a claim from the pool, always the same for one seed and text. `text` is all that a judge
    is shown, so that neither the judged text nor anything next to it has what the claim names.
    `mentions`: whether a text has a word, as evidence is read.
    """
    lowered = text.lower()
    for attempt in count():
        seed = sha256(seed).digest()
        claim = _drawn_claim(seed, 4 + attempt // 8)
        if claim.absent in lowered:
            continue
        if claim.absent.isdecimal() and _has_number(lowered, claim.absent):
            continue
        # As evidence is read: with marks and line ends between its letters it is in the text too.
        if not mentions(text, claim.absent):
            return claim
    raise AssertionError("no text has every number")


def _has_number(text: str, number: str) -> bool:
    """Whether a text has a number, with separators between its digits too."""
    digits = text.encode("utf-8", "surrogatepass").translate(None, delete=_NO_DIGITS)
    return number.encode() in digits and number in _SEPARATORS.sub("", text)


def _drawn_claim(seed: bytes, length: int) -> FalseClaim:
    """`length`: digits of a number, more after each few tries: a text may list all short ones."""
    kind, form, given, family = seed[:4]
    if kind % 2:
        name = _FAMILY_NAMES[family % len(_FAMILY_NAMES)]
        person = f"{_GIVEN_NAMES[given % len(_GIVEN_NAMES)]} {name}"
        return _claim(_ABOUT_A_PERSON, form, person, name)
    lowest = 10 ** (length - 1)
    number = str(lowest + 1 + int.from_bytes(seed[4:]) % (9 * lowest - 1))
    return _claim(_ABOUT_A_NUMBER, form, number, number)


def _claim(forms: tuple[str, ...], form: int, named: str, absent: str) -> FalseClaim:
    return FalseClaim(forms[form % len(forms)].replace("…", named), absent.lower())
