"""A fix: `from module import *` names what is used of it; in an `__init__.py` all that is public."""

import ast
import os
from pathlib import Path

from source import Edit, edited

ROOT = Path(os.environ["HONESTONE_ARTIFACT"])


def public_names(module):
    """The names that a module of the artifact defines itself."""
    path = ROOT.joinpath(*module.split(".")).with_suffix(".py")
    if not path.is_file():
        return []
    tree = ast.parse(path.read_text(encoding="utf-8"))
    made = [node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    made += [
        name.id for node in tree.body if isinstance(node, ast.Assign) for name in node.targets if isinstance(name, ast.Name)
    ]
    return sorted(name for name in made if not name.startswith("_"))


def finder(is_package):
    def find(tree, lines):
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
                names = [name for name in public_names(node.module) if is_package or name in used]
                if names:
                    yield Edit(node.lineno, node.end_lineno, [f"from {node.module} import {', '.join(names)}"])

    return find


if __name__ == "__main__":
    for path in sorted(ROOT.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        path.write_text(edited(text, finder(path.name == "__init__.py")), encoding="utf-8")
