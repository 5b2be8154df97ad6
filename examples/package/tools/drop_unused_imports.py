"""A fix: takes out `import` lines whose names are used nowhere in the module."""

import ast

from source import Edit, edit_all, indent_of


def find(tree, lines):
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            kept = [one for one in node.names if (one.asname or one.name).split(".")[0] in used]
            if len(kept) < len(node.names):
                words = ", ".join(f"{one.name} as {one.asname}" if one.asname else one.name for one in kept)
                indent = indent_of(lines[node.lineno - 1])
                yield Edit(node.lineno, node.end_lineno, [f"{indent}import {words}"] if kept else [])


if __name__ == "__main__":
    edit_all(find)
