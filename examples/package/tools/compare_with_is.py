"""A fix: `== None` becomes `is None`, `!= None` becomes `is not None`."""

import ast
import re

from source import Edit, edit_all


def find(tree, lines):
    numbers = {
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare)
        for other in node.comparators
        if isinstance(other, ast.Constant) and other.value is None
    }
    for number in numbers:
        line = re.sub(r"!=\s*None\b", "is not None", re.sub(r"==\s*None\b", "is None", lines[number - 1]))
        yield Edit(number, number, [line])


if __name__ == "__main__":
    edit_all(find)
