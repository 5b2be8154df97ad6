"""A fix: a bare `except:` catches what the module itself raises, and no more; Exception when it raises nothing."""

import ast
import re

from source import Edit, edit_all


def find(tree, lines):
    raised = {
        node.exc.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name)
    }
    names = sorted(raised) or ["Exception"]
    caught = names[0] if len(names) == 1 else f"({', '.join(names)})"
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and node.type is None:
            line = lines[node.lineno - 1]
            yield Edit(node.lineno, node.lineno, [re.sub(r"except\s*:", f"except {caught}:", line)])


if __name__ == "__main__":
    edit_all(find)
