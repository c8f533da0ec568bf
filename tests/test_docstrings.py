"""Each public class, function, method and attribute has a docstring."""

import dataclasses
import importlib
import inspect
import re

import pytest

MODULES = (
    "cupola",
    "cupola.array_api",
    "cupola.build",
    "cupola.coverage",
    "cupola.distributed",
    "cupola.driver",
    "cupola.exceptions",
    "cupola.fft",
    "cupola.kernels",
    "cupola.linalg",
    "cupola.mpi",
    "cupola.nccl",
    "cupola.paths",
    "cupola.random",
)
# Classes of which methods return objects, by their modules.
RETURNED = {
    "capture": ("Capture",),
    "graph": ("Node",),
    "module": ("Image",),
    "pipelines": ("Pipeline", "Slot"),
    "variable": ("Variable", "Variables"),
}


def public_objects(module):
    """The classes and functions that a module offers."""
    for name in getattr(module, "__all__", [name for name in dir(module) if name[0] != "_"]):
        found = getattr(module, name)
        if (inspect.isclass(found) or callable(found)) and (
            getattr(found, "__module__", "") or ""
        ).startswith("cupola"):
            yield name, found


def described(owner):
    """The attributes that a Python class's docstring lists, as NumPy's rules have it.

    Fields of a dataclass are parameters as well.
    """
    sections = "Attributes|Parameters" if dataclasses.is_dataclass(owner) else "Attributes"
    found = re.search(rf"({sections})\n\s*-+\n(.*)", inspect.getdoc(owner) or "", re.DOTALL)
    lines = re.findall(r"^([\w, ]+) : ", found[2], re.MULTILINE) if found else []
    return {name for line in lines for name in line.split(", ")}


def undocumented(name, found):
    """The names of what has no docstring, in a class and its bases within cupola."""
    if not inspect.isclass(found):
        if not inspect.getdoc(found):
            yield name
        return
    if not found.__doc__:
        yield name
    for owner in found.__mro__:
        if not owner.__module__.startswith("cupola"):
            continue
        listed = described(owner)
        for attribute, value in vars(owner).items():
            text = getattr(getattr(value, "__func__", value), "__doc__", None)
            if attribute[0] != "_" and not (text or "").strip() and attribute not in listed:
                yield f"{owner.__qualname__}.{attribute}"


@pytest.mark.parametrize("module", MODULES)
def test_each_public_name_has_a_docstring(module):
    found = importlib.import_module(module)
    missing = {text for name, thing in public_objects(found) for text in undocumented(name, thing)}
    assert not missing, sorted(missing)


@pytest.mark.parametrize("module", RETURNED)
def test_what_methods_return_has_docstrings(module):
    found = importlib.import_module(f"cupola.{module}")
    missing = {
        text for name in RETURNED[module] for text in undocumented(name, getattr(found, name))
    }
    assert not missing, sorted(missing)


def test_an_attribute_of_a_compiled_class_says_what_it_has():
    import cupola

    assert (
        cupola.Kernel.title.__doc__ == 'The C++ name without parameters, as in ``"axpy<float>"``.'
    )
    assert cupola.Array.nbytes.__doc__ == "The bytes of all elements: ``size * itemsize``."


def test_a_missing_docstring_is_found():
    class Planted:
        """A class of the tests."""

        def method(self): ...

    Planted.__module__ = "cupola.planted"
    found = list(undocumented("Planted", Planted))
    assert [name.rpartition(".")[2] for name in found] == ["method"]
