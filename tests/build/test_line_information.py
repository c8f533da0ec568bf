# tests/build/test_line_information.py - CUPOLA_COVERAGE, and the lines of joined PTX.
import pytest

from cupola.build import line_information, ptx
from cupola.build.error import BuildError
from cupola.image import source_map

TEXT = """.version 8.0
.target sm_75, debug
.address_size 64
.visible .entry {name}()
{{
    .loc 1 {line} 3
    .loc 1 9 5, function_name $L__info_string0, inlined_at 1 {line} 3
    ret;
}}
    .file 1 "/project/{name}.cu"
    .section .debug_str
    {{
$L__info_string0:
.b8 95,90,49,102,118,0
    }}
    .section .debug_info
    {{
.b64 $L__info_string0
    }}
"""


def test_the_switch_adds_options():
    found = [line_information.options({"CUPOLA_COVERAGE": text}) for text in ("1", "exact", "0")]
    assert found == [["-lineinfo"], ["--device-debug"], []]
    assert line_information.options({}) == []
    with pytest.raises(BuildError, match="CUPOLA_COVERAGE=yes: expected 1"):
        line_information.options({"CUPOLA_COVERAGE": "yes"})


def test_joined_texts_keep_the_lines_of_their_own_files():
    texts = {name: TEXT.format(name=name, line=line) for name, line in (("a", 4), ("b", 7))}
    joined = ptx.join(texts)
    assert [line.strip() for line in joined.splitlines() if ".loc" in line or ".file" in line] == [
        ".loc 1 4 3",
        ".loc 1 9 5, function_name $L__info_string0_0, inlined_at 1 4 3",
        ".loc 2 7 3",
        ".loc 2 9 5, function_name $L__info_string1_0, inlined_at 2 7 3",
        '.file 1 "/project/a.cu"',
        '.file 2 "/project/b.cu"',
    ]
    assert ".target sm_75\n" in joined
    assert ".debug_info" not in joined
    inlined = [place for place in source_map.read(joined).locations if place and place.callers]
    assert {(place.callers[0][0], place.callers[0][1].file) for place in inlined} == {
        ("_Z1fv", "/project/a.cu"),
        ("_Z1fv", "/project/b.cu"),
    }
