"""The arrows of docs/internals/contributing.md, read off the includes and imports."""

import ast
import os
import re
from pathlib import Path

import pytest

import cupola

ROOT = Path(__file__).parent.parent
CSRC = ROOT / "csrc"
SOURCES = ("*.cpp", "*.hpp", "*.h", "*.inc", "*.def", "*.cu", "*.cuh")

PYX = ROOT / "pyx/cupola"
TOUR = ROOT / "docs/internals/contributing.md"


def arrows_of_tables(text):
    """Which folders of csrc each folder may include, by the tables of the tour.

    A table begins with "folder of `csrc/NAME`", or "folder" for whole paths. The last column names
    folders beside the row's folder, or below csrc.
    """
    arrows = {}
    for table in re.findall(
        r"^\| folder(?: of `csrc/([\w/]+)`)? \|.*\| may include \|\n((?:\|.*\n)+)", text, re.M
    ):
        base, rows = table
        for row in rows.splitlines()[1:]:
            first, *_, last = re.split(r" *\| *", row.strip("| "))
            name = first.strip("`")
            if not base and not name.startswith("csrc/"):
                continue
            folder = f"{base}/{name}" if base else name.removeprefix("csrc/")
            around = f"{base}/" if base else ""
            named = re.findall(r"`([\w/]+)`", last)
            beside = {f"{around}{other}" for other in named if (CSRC / around / other).is_dir()}
            below = {other for other in named if not (CSRC / around / other).is_dir()}
            assert named or last == "nothing else", f"{folder}: {last}"
            assert folder not in arrows, f"{folder} stands in two tables"
            arrows[folder] = beside | below
    return arrows


ARROWS = arrows_of_tables(TOUR.read_text())


def sources(folder):
    return sorted(path for pattern in SOURCES for path in folder.rglob(pattern))


def includes(path):
    return re.findall(r'^\s*#\s*include\s*"([^"]+)"', path.read_text(), re.MULTILINE)


def included(name, text, known):
    """The files below csrc that a file of this text includes."""
    found = set()
    for include in re.findall(r'^\s*#\s*include\s*"([^"]+)"', text, re.MULTILINE):
        places = (include, f"include/{include}", os.path.normpath(f"{name}/../{include}"))
        there = [place for place in places if place in known]
        assert there, f"{name}: {include} is not below csrc"
        found.add(there[0])
    return found


@pytest.fixture(scope="module")
def files():
    """Which files below csrc each file includes."""
    texts = {str(path.relative_to(CSRC)): path.read_text() for path in sources(CSRC)}
    return {name: included(name, text, texts) for name, text in texts.items()}


def grouped(arrows, group_of):
    """Arrows between groups of names, without those inside of a group."""
    groups = {}
    for name, others in arrows.items():
        around = {group_of(other) for other in others}
        groups.setdefault(group_of(name), set()).update(around - {group_of(name)})
    return groups


def folder_of(name):
    return str(Path(name).parent)


def unit_of(name):
    """A header with its source. Headers of the C ABI and of C++ over it have equal names."""
    return name if name.startswith("include/") else str(Path(name).with_suffix(""))


def test_every_folder_has_its_arrows(files):
    assert grouped(files, folder_of) == ARROWS


def test_folders_and_units_form_no_circle(files):
    assert circles(ARROWS) == []
    assert circles(grouped(files, unit_of)) == []


def members_elsewhere(texts, place_of):
    """Members of classes that a source defines in another place than the class's header.

    Where the place is the folder, such a call leads against the arrow of the include.
    """
    begins = re.compile(r"^(?:class|struct) (\w+)(?: final)?(?: :.*)? {$", re.MULTILINE)
    defines = re.compile(r"^(?!using|return)\w[\w:<>,&* ]*?\b(\w+)::~?\w+\(", re.MULTILINE)
    homes = {}
    for name, text in texts.items():
        for one in begins.findall(text):
            homes.setdefault(one, set()).add(place_of(name))
    return {
        (place_of(name), one)
        for name, text in texts.items()
        for one in defines.findall(text)
        if name.endswith(".cpp") and one in homes and place_of(name) not in homes[one]
    }


def test_members_are_defined_beside_their_class():
    texts = {str(path.relative_to(CSRC)): path.read_text() for path in sources(CSRC)}
    known = {("runtime/launch", "Kernel")}
    assert members_elsewhere(texts, folder_of) == known
    planted = {"cpu/device/a.cpp": "void BlockState::wake(int barrier) {\n}\n"}
    after = members_elsewhere({**texts, **planted}, folder_of)
    assert after == known | {("cpu/device", "BlockState")}


def listed_classes(page):
    """The classes of a page's table."""
    text = (ROOT / f"docs/internals/{page}.md").read_text()
    table = re.search(r"^\| class \|.*\n.*\n((?:\|.*\n)+)", text, re.MULTILINE)[1]
    return re.findall(r"^\| `(\w+)`", table, re.MULTILINE)


def classes_of(page):
    """The classes of a page's table, as names of files."""
    return [re.sub(r"\B([A-Z])", r"_\1", name).lower() for name in listed_classes(page)]


# Folders in which a class is defined in the one source of its header. So are the classes of the
# decoder.
WHOLE_CLASSES = ("cpu/emitter", "ptx")


def test_a_class_has_one_source():
    texts = {str(path.relative_to(CSRC)): path.read_text() for path in sources(CSRC)}
    decoder = set(listed_classes("cpu-device"))

    def cut(texts):
        return {
            each
            for each in members_elsewhere(texts, unit_of)
            if each[0].startswith(WHOLE_CLASSES) or each[1] in decoder
        }

    known = {("ptx/operand_check_texture", "OperandCheck")}
    assert cut(texts) == known
    planted = {
        "cpu/emitter/a.cpp": "void Statements::emit(std::uint32_t b) {\n}\n",
        "cpu/interpreter/a.cpp": "void MatrixDecoder::decode(const ptx::Instruction& i) {\n}\n",
    }
    found = {("cpu/emitter/a", "Statements"), ("cpu/interpreter/a", "MatrixDecoder")}
    assert cut({**texts, **planted}) == known | found


def uses_below(classes, files, folder):
    """Uses of a class of the list by one before it, by the includes of header and source."""
    return {
        (name, other)
        for at, name in enumerate(classes)
        for other in classes[at + 1 :]
        for suffix in (".hpp", ".cpp")
        if f"{folder}/{other}.hpp" in files[f"{folder}/{name}{suffix}"]
    }


@pytest.mark.parametrize(
    ("page", "folder"),
    [("machine-code", "cpu/emitter"), ("ptx", "ptx"), ("cpu-device", "cpu/interpreter")],
)
def test_a_class_uses_those_above_it_in_the_table(files, page, folder):
    classes = classes_of(page)
    assert uses_below(classes, files, folder) == set()
    first, last = f"{folder}/{classes[0]}.hpp", f"{folder}/{classes[-1]}.hpp"
    planted = {**files, first: files[first] | {last}}
    assert uses_below(classes, planted, folder) == {(classes[0], classes[-1])}


def test_the_pipeline_calls_the_passes_of_the_page_in_their_order():
    page = (ROOT / "docs/internals/machine-code.md").read_text()
    table = re.search(r"^\| pass \| finds \|\n.*\n((?:\|.*\n)+)", page, re.MULTILINE)[1]
    listed = re.findall(r"^\| `(\w+)`", table, re.MULTILINE)
    analysis = CSRC / "cpu/analysis"
    pipeline = (analysis / "pipeline.cpp").read_text()
    assert listed == re.findall(r"^    (\w+)\(analysis\);$", pipeline, re.MULTILINE)
    for name in listed:
        text = (analysis / f"{name}.cpp").read_text()
        assert f"\nvoid {name}(KernelAnalysis& analysis) {{\n" in text


def finds_the_driver(texts):
    """Sources below the entry points that look the driver of the process up themselves."""
    return {
        name
        for name, text in texts.items()
        if re.search(r"\bDriver::get\(", text) and not name.startswith("cpu/api/")
    }


def test_the_entry_points_alone_find_the_driver_of_the_process():
    texts = {str(path.relative_to(CSRC)): path.read_text() for path in sources(CSRC)}
    assert finds_the_driver(texts) == set()
    planted = {"cpu/device/a.cpp": "    MemoryMap& memory = Driver::get().memory;\n"}
    assert finds_the_driver({**texts, **planted}) == set(planted)


def has_state(texts):
    """Sources of `csrc/cpu/device` with a variable of the process.

    The sources of `Driver` are left out, and `device/base`, whose variables are needed before a
    driver exists. Variables of a thread do not count.
    """
    static = re.compile(
        r"^(?: +static |(?:static |inline )?std::(?:atomic|mutex|map|vector))"
        r"(?!constexpr\b|const\b|thread_local\b)[^()\n]*(?:;|\{.*\};| = new .*;)(?: +//.*)?$",
        re.MULTILINE,
    )
    home = ("cpu/device/base/", "cpu/device/driver/driver.")
    return {
        name
        for name, text in texts.items()
        if name.startswith("cpu/device/") and not name.startswith(home) and static.search(text)
    }


@pytest.mark.parametrize(
    "variable",
    [
        "std::atomic<std::uint64_t> last_id{2};\n",
        "    static auto* const made = new Table;\n",
        "    static std::atomic<int> active;  // number of captures\n",
        "    static std::atomic<std::uint64_t> last{0};\n",
    ],
)
def test_the_driver_owns_the_state_of_its_objects(variable):
    texts = {str(path.relative_to(CSRC)): path.read_text() for path in sources(CSRC)}
    assert has_state(texts) == set()
    assert has_state({"cpu/device/a.cpp": variable}) == {"cpu/device/a.cpp"}


@pytest.mark.parametrize("folder", sorted(ARROWS))
def test_a_reversed_arrow_is_found(files, folder):
    """An include that is planted in each folder below, of a file of this folder."""
    header = next(name for name in files if folder_of(name) == folder)
    for below in sorted(ARROWS[folder]):
        name = next(name for name in files if folder_of(name) == below)
        planted = included(name, f'#include "{header.removeprefix("include/")}"\n', files)
        after = grouped({**files, name: files[name] | planted}, folder_of)
        assert after[below] == ARROWS[below] | {folder}
        assert any({folder, below} <= set(circle) for circle in circles(after))


def circles(arrows):
    """Groups of names that reach each other, by Tarjan's algorithm."""
    found, order, low, stack = [], {}, {}, []

    def visit(name):
        order[name] = low[name] = len(order)
        stack.append(name)
        for other in arrows.get(name, ()):
            if other not in order:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], order[other])
        if low[name] == order[name]:
            at = stack.index(name)
            if len(stack) > at + 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for name in arrows:
        if name not in order:
            visit(name)
    return found


def test_a_circle_is_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}) == [["b", "c"]]
    assert circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_the_c_functions_stand_in_files_of_their_own():
    """One for each header of the C ABI."""
    headers = {path.stem for path in (CSRC / "include/cupola").glob("*.h")} - {"cupola"}
    assert {path.stem for path in (CSRC / "runtime/abi").glob("*.cpp")} == headers
    defined = re.compile(r"^[\w\[\]:, ]+[ *](cupola_\w+)\(", re.MULTILINE)
    for path in sources(CSRC / "runtime"):
        names = defined.findall(path.read_text())
        if path.parent.name != "abi":
            assert not names, path
            continue
        declared = (CSRC / f"include/cupola/{path.stem}.h").read_text()
        missing = [name for name in names if not re.search(rf"\b{name}\(", declared)]
        assert names and not missing, f"{path}: {missing}"


def test_cupola_h_is_the_sum_of_the_headers():
    headers = {f"cupola/{path.name}" for path in (CSRC / "include/cupola").glob("*.h")}
    assert set(includes(CSRC / "include/cupola/cupola.h")) == headers - {"cupola/cupola.h"}


# Files that read mnemonics: the row, its opcode, and the parser's search.
READ_MNEMONICS = {"form.hpp", "match.cpp", "opcode.hpp", "table.cpp", "table.hpp"}
PRINTED = re.compile(r"\bstd::string(?: text)?\([\w.]+\.mnemonic\)(?! *[=!]=)")


def unprinted_mnemonics(text):
    """Where C++ code uses a mnemonic for something else than a message or a dump."""
    code = re.sub(r"//[^\n]*|^#define FORM\(mnemonic,.*", "", text, flags=re.MULTILINE)
    return re.findall(r".*\bmnemonic\b.*", PRINTED.sub("", code))


def test_a_compared_mnemonic_is_found():
    for text in (
        'if (form.mnemonic == "add") return;',
        "const std::string_view m = i.form.form().mnemonic;",
        'return std::string(form.mnemonic) == "add";',
        "const std::string m(form.mnemonic);",
    ):
        assert unprinted_mnemonics(text) == [text]
    for text in (
        'fail(i.line, "no handler for " + std::string(form.mnemonic));',
        "std::string text(form.mnemonic);  // its mnemonic",
        "#define FORM(mnemonic, semantics, ...) , semantics",
    ):
        assert unprinted_mnemonics(text) == []


@pytest.mark.parametrize("folder", ["cpu", "ptx"])
def test_behaviour_is_chosen_by_opcode(folder):
    """Not by comparing mnemonics: see csrc/ptx/opcode.hpp."""
    for path in sources(CSRC / folder):
        if folder == "ptx" and path.name in READ_MNEMONICS:
            continue
        code = path.read_text()
        assert not unprinted_mnemonics(code), f"{path}: {unprinted_mnemonics(code)}"


def test_nvml_knows_the_device_by_its_description_alone():
    for path in sources(CSRC / "dropin/nvml"):
        assert set(includes(path)) <= {"cpu/api/description.hpp", "dropin/nvml/absent.def"}, path


def test_runtime_calls_the_driver_through_the_table_alone():
    call = re.compile(r"(?<![\w.>:])(cu[A-Z]\w+)\s*\(")
    for path in sources(CSRC / "runtime"):
        code = re.sub(r"//[^\n]*|\"(?:[^\"\\]|\\.)*\"", "", path.read_text())
        assert not call.findall(code), f"{path}: {call.findall(code)}"


def test_each_symbol_of_the_table_is_used():
    table = (CSRC / "runtime/driver/symbols.hpp").read_text()
    rest = "".join(p.read_text() for p in sources(CSRC / "runtime") if p.name != "symbols.hpp")
    for name in re.findall(r"(?:REQUIRED|OPTIONAL)\((cu\w+),", table):
        assert re.search(rf"\b{name}\b", rest), f"{name} is in the table and nowhere else"


def test_libraries_do_not_link_the_driver():
    from cupola import paths

    for library in (paths.library(), paths.cpu_library()):
        needed = Path(library).read_bytes()
        assert needed[:4] == b"\x7fELF"
    assert "libcuda" not in dependencies(paths.library())
    assert "libcupola" not in dependencies(paths.cpu_library())


def dependencies(library):
    """DT_NEEDED entries, by the same reader that the build uses on cubins where it can."""
    import subprocess

    answer = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True)
    return " ".join(re.findall(r"NEEDED.*\[(.+)\]", answer.stdout))


@pytest.mark.parametrize("path", sorted(PYX.rglob("*.pxd")), ids=lambda p: p.name)
def test_public_declarations_need_no_header(path):
    text = path.read_text()
    if path.name.startswith("_"):
        return
    assert not re.search(r'cdef extern from\s+"', text), f"{path} needs a header downstream"
    assert "_abi" not in text, f"{path} cimports the internal table"


PACKAGE = ROOT / "package/cupola"
# The modules beside the folders: public ones, and what `import cupola` reads.
TOP = {"__init__", "__main__", "cache", "exceptions", "kernel_constants", "paths"}
TOP |= {"families", "library", "testing", "version"}


def families_of_the_table(text):
    """Which folders of package/cupola each folder imports, by the table of the tour."""
    table = re.search(
        r"^\| folder of `package/cupola` \|.*\| imports \|\n((?:\|.*\n)+)", text, re.M
    )[1]
    families = {}
    for row in table.splitlines()[1:]:
        first, *_, last = re.split(r" *\| *", row.strip("| "))
        families[first.strip("`")] = set(re.findall(r"`([\w/]+)`", last))
        assert families[first.strip("`")] or last == "nothing else", row
    return families


FAMILIES = families_of_the_table(TOUR.read_text())
# The folders whose modules the build may import, where these import the standard library alone.
BESIDE_BUILD = ("cupola.declare.", "cupola.image.", "cupola.exceptions", "cupola.kernel_constants")
BESIDE_BUILD += ("cupola.library",)


def module_of(path):
    """The name of a Python file of the package: cupola, cupola.build.step."""
    parts = ("cupola", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def family_of(module):
    """The innermost folder of a module, as the table names it; None beside the folders."""
    parts = module.split(".")[1:]
    while parts and "/".join(parts) not in FAMILIES:
        parts.pop()
    return "/".join(parts) or None


def modules_of_the_package():
    """Each file in Python of what is imported as cupola, by the module's name."""
    folders = (PACKAGE, *(PACKAGE / name for name in FAMILIES))
    return {module_of(path): path for folder in folders for path in folder.glob("*.py")}


def imports(path, nodes, known):
    """The modules that these nodes of a file import, absolute. A name that is a known module
    stands for it: ``from . import step`` imports the module step.
    """
    package = module_of(path) if path.stem == "__init__" else module_of(path).rpartition(".")[0]
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: 1 - node.level or None] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            found |= {home_of(base, alias.name, known) for alias in node.names}
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "cupola":
            found.add(home_of("cupola", node.attr, known))
    return found


def home_of(base, name, known):
    """The module that ``from base import name`` reaches. Names of cupola lead to their modules."""
    if f"{base}.{name}" in known:
        return f"{base}.{name}"
    home = cupola._HOMES.get(name) if base == "cupola" else None
    return f"cupola.{home}" if home else base


def running(tree):
    """The nodes of a file without what only type checkers read."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        yield node
        yield from running(node)


def cython_imports(text, known):
    """The modules that Cython code imports and cimports, also inside of functions."""
    code = re.sub(r"#.*", "", text)
    assert not re.search(r"^ *import +cupola *$", code, re.MULTILINE), "import names of cupola"
    found = set(re.findall(r"^ *c?import +(cupola\.[\w.]+)", code, re.MULTILINE))
    for base, names in re.findall(
        r"^ *from +(cupola[\w.]*) +c?import +(\([^)]+\)|.+)", code, re.MULTILINE
    ):
        for name in re.findall(r"(\w+)(?: +as +\w+)? *(?:,|\)|$)", names, re.MULTILINE):
            found.add(home_of(base, name, known))
    return found


def cython_modules():
    """The .pxd and .pyx files of each Cython module, by the module's name."""
    found = {}
    for path in sorted(PYX.rglob("*.p[yx][xd]")):
        name = ".".join(("cupola", *path.relative_to(PYX).with_suffix("").parts))
        if path.stem != "__init__":
            found.setdefault(name, []).append(path)
    return found


def module_arrows():
    """The modules of cupola, in Python and in Cython, that each module imports at run time."""
    python, cython = modules_of_the_package(), cython_modules()
    known = python.keys() | cython.keys()
    arrows = {
        name: imports(path, running(ast.parse(path.read_text())), known)
        for name, path in python.items()
    }
    for name, paths in cython.items():
        arrows[name] = set().union(*(cython_imports(path.read_text(), known) for path in paths))
    return {name: found & known - {name} for name, found in arrows.items()}


@pytest.fixture(scope="module")
def arrows():
    return module_arrows()


def test_relative_imports_are_read():
    known = {"cupola.image.reader", "cupola.build.step", "cupola.build.link"}
    text = "import os\nfrom ..image import reader\nfrom . import step\nfrom .link import steps"
    found = imports(PACKAGE / "build/image.py", ast.walk(ast.parse(text)), known)
    assert found == {"os", *known}


def test_build_imports_little():
    """The standard library, setuptools, and modules that import the standard library alone."""
    import sys

    known = modules_of_the_package()
    todo = [name for name in known if name.startswith("cupola.build")]
    for module in todo:
        path = known[module]
        text = ast.parse(path.read_text())
        for name in imports(path, text.body, known):
            top = name.partition(".")[0]
            allowed = {"setuptools"} if path.parent.name == "build" else set()
            if top in sys.stdlib_module_names | allowed:
                continue
            assert name.startswith(("cupola.build", *BESIDE_BUILD)), f"{path} imports {name}"
            todo += [name] if name in known and name not in todo else []
        for node in text.body:  # setup.py loads them under another name, before cupola
            if isinstance(node, ast.ImportFrom) and not node.level:
                assert not node.module.startswith("cupola"), f"{path}: {node.module}"
    assert {family_of(module) for module in todo} == {
        "build",
        "build/compilers",
        "declare",
        "image",
        None,
    }


def test_declarations_are_read_by_the_standard_library_alone():
    import sys

    known = modules_of_the_package()
    for name, path in known.items():
        if family_of(name) == "declare":
            found = imports(path, ast.parse(path.read_text()).body, known)
            others = {one for one in found if one.partition(".")[0] not in sys.stdlib_module_names}
            allowed = ("cupola.declare", "cupola.exceptions", "cupola.kernel_constants")
            assert not [one for one in others if not one.startswith(allowed)], f"{path}: {others}"


def test_what_runs_does_not_import_the_build():
    known = modules_of_the_package()
    for name, path in known.items():
        if name.startswith(("cupola.build", "cupola.tools.command.")):
            continue
        found = imports(path, ast.walk(ast.parse(path.read_text())), known)
        assert not [one for one in found if one.startswith("cupola.build")], f"{path}: {found}"


def test_each_python_module_is_in_a_family():
    folders = {str(path.parent.relative_to(PACKAGE)) for path in PACKAGE.rglob("__init__.py")}
    assert folders - {"."} == set(FAMILIES)
    # The build puts kernel_constants.py there only in a checkout that is in use.
    assert {path.stem for path in PACKAGE.glob("*.py")} | {"kernel_constants"} == TOP


@pytest.mark.parametrize("family", FAMILIES)
def test_families_import_as_the_table_says(family):
    known = modules_of_the_package()
    others = set()
    for path in PACKAGE.glob(f"{family}/*.py"):
        found = imports(path, ast.walk(ast.parse(path.read_text())), known)
        others |= {family_of(name) for name in found if name.startswith("cupola.")}
    assert others - {family, None} == FAMILIES[family]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_reversed_import_is_found(family):
    for below in FAMILIES[family]:
        assert circles({**FAMILIES, below: FAMILIES[below] | {family}})


def test_families_form_no_circle():
    assert circles(FAMILIES) == []


@pytest.mark.parametrize("family", ["core", "declare", "image", "toolkit", "tools"])
def test_a_folder_imports_nothing_when_one_of_its_modules_is_imported(family):
    tree = ast.parse((PACKAGE / family / "__init__.py").read_text())
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]


def test_no_module_has_the_name_of_a_public_function():
    """Its import would replace the function, since it sets an attribute of the package."""
    modules = {path.stem for path in (*PACKAGE.glob("*.py"), *PYX.glob("*.pyx"))}
    modules |= {family for family in FAMILIES if "/" not in family}
    assert not modules & {name for name in cupola._HOMES if name not in cupola._SUBMODULES}


def test_modules_form_no_circle(arrows):
    assert {"cupola.memory", "cupola.array_data"} <= arrows["cupola.array"]
    assert "cupola.arrays.scans" in arrows["cupola.arrays.numpy_array"]
    assert circles(arrows) == []


@pytest.mark.parametrize(
    ("low", "text", "high"),
    [
        ("array", "    from cupola import cumsum", "arrays.scans"),
        ("stream", "        from cupola import (\n            Event as E,\n        )", "event"),
        ("arrays.reduce", "from cupola.arrays.reductions cimport R", "arrays.reductions"),
    ],
)
def test_an_import_of_a_higher_cython_module_is_found(arrows, low, text, high):
    low, high = f"cupola.{low}", f"cupola.{high}"
    planted = cython_imports(f"def f():\n{text}\n", arrows.keys())
    assert planted == {high}
    found = circles({**arrows, low: arrows[low] | planted})
    assert any({low, high} <= set(circle) for circle in found)


def test_an_import_by_a_public_name_is_found(arrows):
    text = "import cupola\n\ndef f():\n    return cupola.Event()\n"
    found = imports(PACKAGE / "manifest.py", running(ast.parse(text)), arrows.keys())
    assert "cupola.event" in found
    typed = "if TYPE_CHECKING:\n    from cupola import Event\n"
    assert not imports(PACKAGE / "manifest.py", running(ast.parse(typed)), arrows.keys())


def reached(arrows, name):
    """The modules that a module imports, and that these import."""
    found, open_ = set(), {name}
    while open_:
        found |= open_
        open_ = set().union(*(arrows[one] for one in open_)) - found
    return found


def test_the_registry_has_the_names_that_lower_modules_look_up(arrows):
    """Each is of a module that imports the module which looks the name up, or of another part."""
    from cupola.core import registry
    from cupola.core.parts import part_of

    used = set()
    files = {name: [path] for name, path in modules_of_the_package().items()}
    for module, paths in {**files, **cython_modules()}.items():
        for path in paths:
            for name in re.findall(r"\bregistered\(\"(\w+)\"\)", path.read_text()):
                used.add(name)
                home = f"cupola.{registry.homes[name]}"
                higher = module in reached(arrows, home) or part_of(home) != part_of(module)
                assert higher, f"{module}: import {name} of {home}"
    assert used == registry.homes.keys()


def test_one_hook_loads_the_interface_of_numpy():
    text = "".join(path.read_text() for paths in cython_modules().values() for path in paths)
    assert re.findall(r"registry\.load\((.*?)\)", text) == ['"arrays.numpy_array"']


def test_what_every_installation_has_imports_no_part(arrows):
    """At its start; a function may, as commands do."""
    from cupola.core.parts import part_of

    known = arrows.keys()
    for name, path in modules_of_the_package().items():
        found = imports(path, ast.parse(path.read_text()).body, known)
        parts = {part_of(one) for one in found & known} - {None, part_of(name)}
        # NCCL's calls check their arguments as algorithms do.
        assert not parts or part_of(name) in {"cluster", "pycuda"}, f"{name}: {parts}"
    for name in cython_modules():
        assert {part_of(one) for one in arrows[name]} <= {None, part_of(name)}, name


def test_files_are_short():
    for folder in (
        *(ROOT / name for name in ("pyx", "package", "tests", "benchmarks", "examples")),
        CSRC,
    ):
        for path in folder.rglob("*"):
            if path.suffix in {".cpp", ".hpp", ".h", ".cu", ".py", ".pyx", ".pxd"}:
                if any(
                    part in {"lib", "include"} and "package" in path.parts for part in path.parts
                ):
                    continue
                if path.with_suffix(".pyx").exists() and path.suffix == ".cpp":
                    continue  # generated by Cython
                assert len(path.read_text().splitlines()) <= 800, path
