"""Every function returns what NVIDIA's runtime returns, recorded in nvidia.json."""

import json
import re
from pathlib import Path

import cupola.library

from . import contract

ROOT = Path(__file__).parents[2]
LIBRARIES = sorted(Path(cupola.library.FOLDER, "cudart").glob("libcudart.so.*"))


def implemented():
    """The functions that csrc/cudart defines."""
    text = "".join(path.read_text() for path in (ROOT / "csrc/cudart").rglob("*.cpp"))
    return set(re.findall(r"CUPOLA_CUDART [\w ]+?[ *]+(\w+)\(", text)) - {"CUPOLA_OWN"}


def test_every_function_is_called_by_a_program():
    called = {
        name for one in json.loads(contract.RECORD.read_text()).values() for name in one["called"]
    }
    assert implemented() - called == set()
