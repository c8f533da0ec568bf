# tools/prose.py - check comments, docstrings and documents for long sentences and unclear words.
"""``prose.py [PATH ...]`` reports each finding as ``file:line: message`` and fails if there is one.

It checks three things:

- a sentence of more than 35 words, in a comment, a docstring or a Markdown document
- a phrase of `PHRASES`, there and in string literals
- a name of `OLD_NAMES`, as an identifier or as a file's name

Without a path it checks `FOLDERS`, which are clean. A folder that becomes clean is added there.
A path may be a git pathspec.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOST_WORDS = 35
FOLDERS = [
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Makefile",
    "README.md",
    "benchmarks",
    "csrc/cpu/analysis",
    "csrc/cpu/api",
    "csrc/cpu/base",
    "csrc/cpu/compiler",
    "csrc/cpu/debugger",
    "csrc/cpu/device",
    "csrc/cpu/emitted",
    "csrc/cpu/emitter",
    "csrc/cpu/interpreter",
    "csrc/cpu/isa",
    "csrc/cpu/observe",
    "csrc/cpu/sanitizer",
    "csrc/cpu/traffic",
    "csrc/image",
    "csrc/include",
    "csrc/kernels",
    "csrc/dropin/nvml",
    "csrc/dropin/nvrtc",
    "csrc/dropin/recorder",
    "csrc/platform",
    "csrc/ptx",
    "csrc/runtime",
    "docs",
    "examples",
    "package",
    "pyx",
    "setup.py",
    "tests",
    "tools",
]
KEPT = ROOT / "tests" / "kept"  # these files are as a version wrote them

# Phrases that a reader whose first language is not English reads twice, and what to write.
PHRASES = {
    r"\b(is|are|was|were) asked for\b": "name who needs it",
    r"\blooks? on\b": "use a literal verb",
    r"\b(goes|go|went) (its|their) (own )?way\b": "say what it does",
    r"\b(is|are|was|were) told (of|that|what|where|how|when|about)\b": "use 'receives'",
    r"\b(comes?|came) round\b": "use 'recurs' or 'repeats'",
    r"\b(some|no|any)body\b": "name who or what it is",
    r"\bwho(so)?ever\b": "name who or what it is",
    r"\bby that(?=[,.;:]|$)": "name the cause",
    r"\banew\b": "use 'again'",
    r"\ball else\b": "use 'everything else' or name it",
    r"\bin vain\b": "say what fails",
    r"\binterpreter(')?s lock\b": "use 'GIL'",
    r"\b(is|are) held (against|to)\b": "use 'is compared with'",
    r"\bspoken of\b": "use 'named' or 'described'",
    r"\b(knows?|hears?) of\b": "use a literal verb",
    r"\bnothing but\b": "use 'only'",
    r"\bfor good\b": "use 'permanently'",
    r"\b(is|are|has|have) no more\b": "say what happened to it",
    r"\bnext to nothing\b": "give the number",
    r"\b(none|one) the wiser\b": "use a literal phrase",
    r"\bprinted (code|source|kernels?|functions?)\b": "use 'emitted'",
    r"\brounds? of (a|the) loops?\b": "use 'iteration'",
}
ANY_PHRASE = re.compile("|".join(PHRASES), re.IGNORECASE)
# At a sentence's start. A question ends with a question mark and is accepted.
SUBJECTS = {
    r"^(What|Whatever) (?!if\b)[^?]*$": "start with the noun that 'what' stands for",
}
OLD_NAMES = {
    "Holdings": "RetainedByNode", "PlaceLock": "StripedLock", "ScopeOfNames": "NameScope",
    "Surroundings": "CheckContext", "Unprintable": "UnsupportedKernel",
    "begin_anew": "clear_variable", "call_slowly": "call_generic", "collect_lanes": "pack_lanes",
    "each_fetched": "for_each_prefetched", "fetch_ahead": "prefetch_ahead",
    "find_same": "find_uniform", "goes_round": "all_lanes_compare", "in_squares": "tiled",
    "is_passing": "is_temporary", "is_queue": "is_not_capturing",
    "keep_all": "begin_deferred_release", "keep_no_more": "end_deferred_release",
    "limit_lanes": "update_reconvergence_pc", "line_up": "enqueue_group",
    "load_near": "load_affine", "look_ahead": "register_cpu_code", "make_now": "compile_all",
    "meant_by": "contains_any", "near_all": "check_block_affine", "next_round": "next_iteration",
    "print_parts": "kernel_source", "print_rounds": "loop_batches",
    "rise_of_lanes": "affine_step", "rounds_ahead": "predict_iterations", "set_same": "splat",
    "spread_lanes": "unpack_lanes", "stop_sweep": "end_block_batch", "store_near": "store_affine",
    "swept_warps": "batched_warps", "take_made": "load_compiled", "under_way": "running_processes",
    "work_gate": "quiesce",
}  # fmt: skip

C_LIKE = {".cpp", ".hpp", ".h", ".c", ".cu", ".cuh", ".def", ".inc"}
PYTHON_LIKE = {".py", ".pyx", ".pxd", ".pyi"}
C_TOKEN = re.compile(
    r'(?P<raw>\bR"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)")|(?P<line>//[^\n]*)|(?P<block>/\*.*?\*/)'
    r"""|(?P<string>"(?:\\.|[^"\\\n])*")|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'""",
    re.DOTALL,
)
PYTHON_TOKEN = re.compile(
    r"""(?P<line>\#[^\n]*)|(?P<block>\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3})"""
    r"""|(?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
)
ITEM = re.compile(r"(?:[-*+•]|\d+[.)])\s+|:\w[^:]*:\s+")
ENDS = re.compile(r"""(?<!\.\.)(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?<!\bcf)[.!?]["')\]*_]*\s+""")
Line = tuple[int, str]  # a line's number and its text


def paragraphs(lines: list[Line]) -> Iterator[list[Line]]:
    """Paragraphs of a comment or docstring, without its literal blocks and section titles."""
    current: list[Line] = []
    indent = literal = -1
    for i, (number, raw) in enumerate(lines):
        text, depth = raw.strip(), len(raw) - len(raw.lstrip())
        if literal >= 0 and (not text or depth > literal):
            continue
        literal = -1
        title = i + 1 < len(lines) and re.fullmatch(r"\s*(-{3,}|={3,})\s*", lines[i + 1][1])
        plain = text and not title and not re.match(r"[-=]{3,}$|>>>|\.\.\.( |$)", text)
        item = ITEM.match(text)
        if current and (not plain or item or depth != indent):
            yield current
            current = []
        if plain:
            current.append((number, text[item.end() :] if item else text))
            indent = depth + (item.end() if item and not current[1:] else 0)
        if text.endswith("::"):
            literal = depth
    if current:
        yield current


def markdown(text: str) -> Iterator[list[Line]]:
    """Paragraphs of a document: a table's cells one by one, nothing of its code blocks."""
    text = re.sub(r"<!--.*?-->", lambda m: "\n" * m[0].count("\n"), text, flags=re.DOTALL)
    lines: list[Line] = []
    fence = ""
    for number, raw in enumerate(text.split("\n"), 1):
        line = re.sub(r"^[\s>]*> ?", "", raw)
        mark = re.match(r"\s*(`{3,}|~{3,}|:{3,})(.*)", line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) and not mark[2].strip() else fence
        elif mark:
            fence = "" if mark[1][0] == ":" or re.match(r"\{(note|tip|warn)", mark[2]) else mark[1]
        elif re.match(r"\s*\|", line):
            yield from ([(number, cell)] for cell in re.split(r"(?<!\\)\|", line))
        elif not (line.startswith("    ") and (not lines or not lines[-1][1])):
            line = re.sub(r"^\[[^\]]+\]: .*|</?[a-z][^>]*>", "", line)
            lines += (
                [(number, line.lstrip("# ")), (number, "")] if line[:1] == "#" else [(number, line)]
            )
            continue
        lines.append((number, ""))
    yield from paragraphs(lines)


def source(text: str, token: re.Pattern[str]) -> Iterator[tuple[str, list[Line]]]:
    """("prose", a paragraph) of comments and docstrings; ("string", a line) of other literals."""
    comment: list[Line] = []
    last = (-2, -1)  # line and column of the comment before
    code = ""  # the last character of code
    position = 0
    for match in token.finditer(text):
        number = text.count("\n", 0, match.start()) + 1
        before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        between = text[position : match.start()].strip()
        position = match.end()
        code = between[-1:] or code
        kind = match.lastgroup or ""
        joins = not before.strip() and last == (number - 1, len(before))
        if comment and not (kind == "line" and joins):
            yield from (("prose", found) for found in paragraphs(comment))
            comment = []
        if kind == "line":
            comment.append((number, re.sub(r"^(//+[!<]?|#+[:!]?) ?", "", match[0])))
            last = (number, len(before))
        elif kind == "block":
            body = match[0][2:-2] if match[0][0] == "/" else match[0][3:-3]
            lines = [re.sub(r"^\s*\*( |$)", "", line) for line in body.split("\n")]
            numbered = list(enumerate([lines[0].strip(), *lines[1:]], number))
            if match[0][0] == "/" or (not before.strip(" rRuU") and code in ("", ":")):
                base = min((len(x) - len(x.lstrip()) for x in lines[1:] if x.strip()), default=0)
                numbered[1:] = [(n, line[base:]) for n, line in numbered[1:]]
                yield from (("prose", found) for found in paragraphs(numbered))
            else:
                yield from (("string", [line]) for line in numbered)
        elif kind == "string":
            yield "string", [(number, match[0][1:-1])]
        code = code if kind == "line" or match[0].startswith("/*") else '"'
    yield from (("prose", found) for found in paragraphs(comment))


def findings(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """(line, message) of each finding in ``path``."""
    parts: Iterator[tuple[str, list[Line]]]
    if path.suffix in C_LIKE | PYTHON_LIKE:
        parts = source(text, C_TOKEN if path.suffix in C_LIKE else PYTHON_TOKEN)
        own = path == Path(__file__).resolve()  # names each old name
        for old in () if own else sorted(OLD_NAMES.keys() & re.findall(r"\w+", text)):
            for match in re.finditer(rf"\b{old}\b", text):
                yield text.count("\n", 0, match.start()) + 1, f"'{old}' is now '{OLD_NAMES[old]}'"
        if path.stem in OLD_NAMES:
            yield 1, f"the file's name '{path.stem}' is now '{OLD_NAMES[path.stem]}'"
    elif path.suffix == ".md":
        if path.name == "CHANGELOG.md":  # released sections stay as they are
            text = "\n## ".join(text.split("\n## ")[:2])
        parts = (("prose", found) for found in markdown(text))
    else:  # Makefile, shell
        rows = [re.match(r"\s*#+ ?(.*)", line) for line in text.split("\n")]
        lines = [(n, row[1] if row else "") for n, row in enumerate(rows, 1)]
        parts = (("prose", found) for found in paragraphs(lines))
    for kind, lines in parts:
        yield from check(lines, kind == "prose")


def check(lines: list[Line], prose: bool) -> Iterator[tuple[int, str]]:
    """(line, message) of each finding in a paragraph; only prose has sentences."""
    text = " ".join(line for _, line in lines)
    starts = [sum(len(line) + 1 for _, line in lines[:i]) for i in range(len(lines))]

    def line_at(offset: int) -> int:
        return max(n for start, (n, _) in zip(starts, lines, strict=True) if start <= offset)

    # Code is one word, and a link is its text. Offsets stay: what is removed becomes "_".
    plain = re.sub(r"(`+).*?\1|(?<=\])\([^)\s]*\)", lambda m: "_" * len(m[0]), text)
    for phrase, advice in PHRASES.items() if ANY_PHRASE.search(plain) else ():
        for match in re.finditer(phrase, plain, re.IGNORECASE):
            yield line_at(match.start()), f"'{match[0]}': {advice}"
    start = 0
    for end in [*(m.end() for m in ENDS.finditer(plain)), len(plain)] if prose else []:
        sentence = plain[start:end]
        words = [word for word in sentence.split() if re.search(r"\w", word)]
        if len(words) > MOST_WORDS:
            yield line_at(start), f"a sentence of {len(words)} words; at most {MOST_WORDS}"
        for subject, advice in SUBJECTS.items():
            if re.search(subject, sentence.strip()):
                yield line_at(start), f"'{' '.join(sentence.split()[:3])} ...': {advice}"
        start = end


def files(paths: list[str]) -> list[Path]:
    """The checked files among ``paths``; of a folder, those that git tracks or does not ignore."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *paths]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    kinds = C_LIKE | PYTHON_LIKE | {".md", ".sh"}
    found = [ROOT / line for line in listed.splitlines()]
    return [
        path
        for path in found
        if path.is_file()
        and (path.suffix in kinds or path.name == "Makefile")
        and not path.is_relative_to(KEPT)
    ]


def main() -> int:
    count = 0
    for path in files(sys.argv[1:] or FOLDERS):
        for line, message in sorted(findings(path, path.read_text())):
            print(f"{path.relative_to(ROOT)}:{line}: {message}")
            count += 1
    return min(count, 1)


if __name__ == "__main__":
    sys.exit(main())
