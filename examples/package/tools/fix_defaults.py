"""A fix: a list, dict or set as a default is shared by all calls. It becomes None, and each call makes its own."""

import ast

from source import Edit, edit_all, indent_of


def find(tree, lines):
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef):
            continue
        arguments = node.args.args[len(node.args.args) - len(node.args.defaults) :]
        shared = [
            (argument.arg, default)
            for argument, default in zip(arguments, node.args.defaults)
            if isinstance(default, (ast.List, ast.Dict, ast.Set)) and default.lineno == default.end_lineno
        ]
        if shared:
            yield from _edits(node, shared, lines)


def _edits(node, shared, lines):
    head = {number: lines[number - 1] for number in {default.lineno for _, default in shared}}
    made = []
    for name, default in reversed(shared):  # from the end of the line
        line = head[default.lineno]
        value = line[default.col_offset : default.end_col_offset]
        head[default.lineno] = line[: default.col_offset] + "None" + line[default.end_col_offset :]
        made.insert(0, (name, value))
    for number, line in head.items():
        yield Edit(number, number, [line])
    body = node.body[1] if ast.get_docstring(node) and len(node.body) > 1 else node.body[0]
    indent = indent_of(lines[body.lineno - 1])
    yield Edit(body.lineno, 0, [f"{indent}{name} = {value} if {name} is None else {name}" for name, value in made])


if __name__ == "__main__":
    edit_all(find)
