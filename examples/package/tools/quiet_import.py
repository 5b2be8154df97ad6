"""A fix: takes out what a module prints when it is imported."""

import ast

from source import Edit, edit_all


def find(tree, lines):
    for node in tree.body:
        call = node.value if isinstance(node, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "print":
            yield Edit(node.lineno, node.end_lineno, [])


if __name__ == "__main__":
    edit_all(find)
