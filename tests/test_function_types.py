"""Types of C functions are set on objects that no other module and no other thread has."""

import ast
from pathlib import Path

import cupola

PACKAGE = Path(cupola.__file__).parent


def own_libraries(tree):
    """The expressions that a file assigns a new ctypes.CDLL to."""
    return {
        ast.unparse(target)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("ctypes.CDLL(")
        for target in node.targets
    }


def shared_functions(text):
    """The lines that set types of a function which may be an attribute of a shared library.

    ``library.f`` is one object for all callers. ``library["f"]`` is a new one.
    """
    if "argtypes" not in text and "restype" not in text:
        return []
    tree = ast.parse(text)
    own, found = own_libraries(tree), []
    for scope in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
        new = {
            ast.unparse(target)
            for node in ast.walk(scope)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript)
            for target in node.targets
        }
        for node in ast.walk(scope):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and (
                node.attr in ("argtypes", "restype")
            ):  # fmt: skip
                function = node.value
                library = function.value if isinstance(function, ast.Attribute) else None
                if isinstance(function, ast.Call) and function.args:
                    library = function.args[0]  # getattr(library, name)
                known = library is not None and ast.unparse(library) in own
                if not known and ast.unparse(function) not in new:
                    found.append(node.lineno)
    return sorted(set(found))


def test_no_file_of_the_package_sets_types_of_shared_functions():
    found = {
        str(path.relative_to(PACKAGE)): lines
        for path in PACKAGE.rglob("*.py")
        if (lines := shared_functions(path.read_text()))
    }
    assert found == {}


def test_such_a_line_is_found():
    for text, lines in (
        ("def f():\n    call = library.calls().g\n    call.restype = x\n", [3]),
        ("def f():\n    getattr(found, 'g').argtypes = []\n", [2]),
        ("def f():\n    call = library.calls()['g']\n    call.restype = x\n", []),
        ("def f():\n    own = ctypes.CDLL(p)\n    own.g.argtypes, own.g.restype = x, y\n", []),
        ("def f(self):\n    self.library.g.restype = x\n", [2]),
    ):
        assert shared_functions(text) == lines
