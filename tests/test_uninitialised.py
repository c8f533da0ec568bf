"""Objects made by __new__ alone, as a subclass without super().__init__() would: no crash."""

import pytest

import cupola

USES = {
    "Stream": [
        "handle",
        "synchronize()",
        "done",
        "wait(x)",
        "record()",
        "__enter__()",
        "__repr__()",
        "__hash__()",
    ],
    "Event": ["handle", "synchronize()", "done", "record()", "elapsed_since(x)", "__repr__()"],
    "Array": ["address", "get()", "set([1])", "reshape(1)", "free()", "__len__()", "__repr__()"],
    "Kernel": ["launch(1,1)", "params", "registers", "forall(3)", "prepare(1,1)", "__repr__()"],
    "Launch": ["__call__()", "__getitem__(0)", "__setitem__(0,1)", "__len__()", "__repr__()"],
    "Module": ["kernels", "__getitem__('a')", "globals['a']", "__repr__()"],
}


@pytest.mark.parametrize("kind", USES)
def test_no_use_crashes(driver, kind):
    made = getattr(cupola, kind).__new__(getattr(cupola, kind))
    for use in USES[kind]:
        try:
            eval(f"x.{use}", {"x": made})
        except Exception as error:
            assert not isinstance(error, SystemError), use
    del made


def test_a_stream_that_was_never_made_is_refused(driver):
    class Mine(cupola.Stream):
        def __init__(self):
            pass

    for use in (cupola.Stream.wait, lambda s, other: cupola.empty(3, stream=other)):
        with pytest.raises(cupola.ArgumentError, match="never initialised"):
            use(cupola.Stream(), Mine())
