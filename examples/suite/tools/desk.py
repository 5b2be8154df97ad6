"""A stand-in for a model behind a prompt: a library's help desk. `desk.py PROMPT_FILE`, the question on stdin.

It knows the pages below and follows the four rules that a prompt may hold. Put `--target openai:MODEL` in its place and
the same suite runs on a model.
"""

import re
import sys
from pathlib import Path

HANDBOOK = {
    "Opening hours": "We open on weekdays at 9 and close at 19. On Saturday we close at 13. On Sunday we are closed.",
    "Renewals": "A loan can be renewed twice, online or at the desk. A book that somebody waits for cannot be renewed.",
    "Late books": "A late book costs 20 cents a day. Children pay nothing.",
    "Rooms": "A study room is free for two hours. Book it at the desk with your card.",
}


def words(text: str) -> set[str]:
    """Longer words, without a plural's s."""
    return {word.rstrip("s") for word in re.findall(r"[a-z]{4,}", text.lower())}


def page_for(question: str) -> tuple[str, int]:
    """The page that shares the most words with the question, and how many."""
    shared = {title: len(words(question) & words(f"{title} {text}")) for title, text in HANDBOOK.items()}
    best = max(shared, key=lambda title: shared[title])
    return best, shared[best]


def answer(question: str, rules: str) -> str:
    title, shared = page_for(question)
    if not shared and "do not know" in rules:
        return "I do not know. Please ask at the desk."
    text = HANDBOOK[title]
    if "one sentence" in rules:
        text = re.split(r"(?<=\.) ", text)[0]
    if "name the page" in rules:
        text += f" (page: {title})"
    return f"Dear reader, {text[0].lower()}{text[1:]}" if "politely" in rules else text


def main() -> None:
    question, rules = sys.stdin.read(), Path(sys.argv[1]).read_text(encoding="utf-8").lower()
    notice = re.match(r"Put up a notice: (.+)", question)
    if notice:
        with open("notices.md", "a", encoding="utf-8") as board:
            board.write(f"- {notice[1]}\n")
        print("The notice is up.")
    else:
        print(answer(question, rules))


if __name__ == "__main__":
    main()
