"""A fix: the comment over a function, or at the top of a module, becomes its docstring."""

import ast

from source import Edit, edit_all, indent_of


def find(tree, lines):
    if not ast.get_docstring(tree):
        count = next((n for n, line in enumerate(lines) if not line.startswith("#")), len(lines))
        if count:
            yield Edit(1, count, docstring(lines[:count], ""))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and not ast.get_docstring(node):
            first = node.lineno
            while first > 1 and lines[first - 2].strip().startswith("#"):
                first -= 1
            if first < node.lineno:
                body = node.body[0].lineno
                yield Edit(body, 0, docstring(lines[first - 1 : node.lineno - 1], indent_of(lines[body - 1])))
                yield Edit(first, node.lineno - 1, [])


def docstring(comment, indent):
    said = [line.strip().lstrip("#").strip() for line in comment]
    if len(said) == 1:
        return [f'{indent}"""{said[0]}"""']
    return [f'{indent}"""{said[0]}', *(indent + line for line in said[1:]), f'{indent}"""']


if __name__ == "__main__":
    edit_all(find)
