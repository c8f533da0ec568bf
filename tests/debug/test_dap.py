"""python -m cupola debug --dap: an editor's requests, by a client in the tests."""

import json
import subprocess
import sys

import pytest
import sessions
from dap_client import Client
from sessions import PROGRAM, image, line


def launch(*actions, kind="full"):
    return {"program": str(PROGRAM), "args": [str(image(kind)), *actions]}


def output(client):
    """The program's standard output."""
    return "".join(
        event["body"]["output"]
        for event in client.events
        if event["event"] == "output" and event["body"]["category"] == "stdout"
    )


def place(client, thread):
    frame = client.ask("stackTrace", threadId=thread)["stackFrames"][0]
    return frame["name"], frame["line"]


def test_a_session():
    with Client() as client:
        (point,) = client.begin(launch("reverse", "wait"), [line("few")])
        assert point == {"id": 1, "verified": False, "line": line("few")}
        changed = client.wait("breakpoint")["breakpoint"]
        assert changed == {**point, "verified": True}
        stopped = client.wait("stopped")
        assert stopped["reason"] == "breakpoint" and stopped["hitBreakpointIds"] == [1]
        threads = client.ask("threads")["threads"]
        assert [each["name"] for each in threads] == [f"block (0,0,0), warp {n}" for n in (0, 1)]
        (frame,) = client.ask("stackTrace", threadId=stopped["threadId"])["stackFrames"]
        assert frame["name"] == "reverse" and frame["line"] == line("few")
        assert frame["source"]["path"] == str(sessions.SOURCE)
        named = client.variables(frame["id"], "Variables")
        assert named["t"]["value"] == "63.0" and named["n"]["value"] == "100"
        point = named["p"]["variablesReference"]
        parts = client.ask("variables", variablesReference=point)["variables"]
        assert (parts[0]["name"], parts[0]["value"]) == ("x", "1.5")
        tile = named["tile"]["variablesReference"]
        some = client.ask("variables", variablesReference=tile, start=2, count=2)["variables"]
        assert [(each["name"], each["value"]) for each in some] == [("[2]", "2.0"), ("[3]", "3.0")]
        pointer = named["in"]["variablesReference"]
        assert client.ask("variables", variablesReference=pointer)["variables"][0]["value"] == "0.0"
        assert client.variables(frame["id"], "Thread")["threadIdx"]["value"] == "(0, 0, 0)"
        assert any(name.startswith("%f") for name in client.variables(frame["id"], "Registers"))
        value = client.ask("evaluate", expression="tile[5] + n", frameId=frame["id"])
        assert value["result"] == "105.0"
        refused = client.response("evaluate", expression="missing", frameId=frame["id"])
        assert not refused["success"] and "NameError" in refused["message"]

        warp = stopped["threadId"]
        client.ask("stepIn", threadId=warp)
        assert client.wait("stopped")["reason"] == "step" and place(client, warp) == (
            "twice", line("twice"))  # fmt: skip
        client.ask("next", threadId=warp)
        client.wait("stopped")
        assert place(client, warp) == ("twice", line("twice") + 1)
        calls = client.ask("stackTrace", threadId=warp)["stackFrames"]
        assert [each["name"] for each in calls] == ["twice", "reverse"]
        assert client.ask("evaluate", expression="i", frameId=calls[1]["id"])["result"] == "0"
        said = client.ask("evaluate", expression="thread (3,0,0)", context="repl")["result"]
        assert "thread (3,0,0)" in said
        calls = client.ask("stackTrace", threadId=warp)["stackFrames"]
        assert client.variables(calls[0]["id"], "Thread")["threadIdx"]["value"] == "(3, 0, 0)"
        client.ask("stepOut", threadId=warp)
        client.wait("stopped")
        assert place(client, warp) == ("reverse", line("few"))

        client.ask("setBreakpoints", source={"path": str(sessions.SOURCE)}, breakpoints=[])
        client.ask("continue", threadId=warp)
        assert client.wait("exited")["exitCode"] == 0
        client.wait("terminated")
        assert "sum " in output(client)
        client.ask("disconnect")
    assert client.status == 0


def test_a_condition_and_a_function_by_a_socket():
    with Client(port=True) as client:
        when = "threadIdx.x == 3"
        points = client.begin(launch("count", "wait"), [line("base")], ["missing"], condition=when)
        assert [each["id"] for each in points] == [1, 2]
        warp = client.wait("stopped")["threadId"]
        calls = client.ask("stackTrace", threadId=warp)["stackFrames"]
        assert [each["name"] for each in calls] == ["factorial"] * (len(calls) - 1) + ["count"]
        assert client.ask("evaluate", expression="threadIdx.x", frameId=calls[0]["id"])[
            "result"] == "3"  # fmt: skip
        client.ask("disconnect")
    assert client.status == 0


def test_pause_and_terminate():
    with Client() as client:
        client.begin(launch("spin", "wait"), functions=["spin"])
        client.wait("stopped")
        client.ask("setFunctionBreakpoints", breakpoints=[])
        client.ask("continue", threadId=1)
        client.ask("pause", threadId=1)
        stopped = client.wait("stopped")
        assert stopped["reason"] == "pause" and place(client, 1)[0] == "spin"
        client.ask("terminate")
        client.wait("terminated")
    assert client.status == 0


def test_breakpoints_while_a_kernel_runs():
    with Client() as client:
        client.begin(launch("spin", "wait"), functions=["spin"])
        client.wait("stopped")
        client.ask("setFunctionBreakpoints", breakpoints=[])
        client.ask("continue", threadId=1)
        path = {"path": str(sessions.SOURCE)}
        client.ask("setBreakpoints", source=path, breakpoints=[{"line": line("spin")}])
        assert client.wait("stopped")["reason"] == "breakpoint"
        client.ask("disconnect")


def test_stop_on_entry_of_code_without_lines():
    with Client() as client:
        client.begin({**launch("power", "wait", kind="plain"), "stopOnEntry": True})
        client.wait("stopped")
        (frame,) = client.ask("stackTrace", threadId=1)["stackFrames"]
        reference = frame["source"]["sourceReference"]
        text = client.ask("source", sourceReference=reference)["content"].splitlines()
        assert "%" in text[frame["line"] - 1] and frame["source"]["name"] == "power.ptx"
        client.ask("disconnect")


def test_requests_that_cannot_be_done():
    with Client() as client:
        client.ask("initialize")
        for command, arguments in (
            ("stackTrace", {"threadId": 1}), ("attach", {}), ("launch", {}), ("setBreakpoints", {}),
            ("variables", {"variablesReference": "x"}), ("__init__", {}),
        ):  # fmt: skip
            response = client.response(command, **arguments)
            assert not response["success"] and command in response["message"], response
        client.send(b"{not json")  # ends the session
    assert client.status == 0


def test_a_program_that_is_not_there():
    with Client() as client:
        client.begin({"program": "/no/such/program"})
        assert "no program /no/such/program" in client.wait("output")["output"]
        client.wait("terminated")
    assert client.status == 1


@pytest.mark.parametrize(
    ("command", "arguments", "says"),
    [
        ("launch", 5, "expected 'arguments': an object, got 5"),
        ("launch", {"program": 5}, "expected 'program': a text, got 5"),
        ("launch", {"program": "x", "args": "abc"}, "expected 'args': a list of texts"),
        ("launch", {"program": "x", "env": [1]}, "expected 'env': an object"),
        ("launch", {"program": "x", "cwd": 1}, "expected 'cwd': a text"),
        ("launch", {"program": "x\0"}, "expected 'program': a text"),
        ("setBreakpoints", {"source": 5}, "expected 'source': an object"),
        ("setBreakpoints", {"source": {"path": ["a"]}}, "expected 'path': a text"),
        (
            "setBreakpoints",
            {"source": {"path": "a.cu"}, "breakpoints": [5]},
            "expected 'breakpoints': a list of objects",
        ),
        (
            "setBreakpoints",
            {"source": {"path": "a.cu"}, "breakpoints": [{"line": float("inf")}]},
            "expected 'line': a whole number",
        ),
        ("setFunctionBreakpoints", {"breakpoints": [{}]}, "expected the argument 'name'"),
        ("setFunctionBreakpoints", {"breakpoints": [{"name": 5}]}, "expected 'name': a text"),
        ("stackTrace", {"threadId": 1}, "no kernel is stopped"),
        ("evaluate", {"expression": 5}, "no kernel is stopped"),
        (["launch"], {}, "is not supported"),
    ],
)
def test_arguments_of_wrong_types_are_refused(command, arguments, says):
    with Client() as client:
        client.ask("initialize")
        client.send(json.dumps({"seq": 9, "command": command, "arguments": arguments}).encode())
        response = client.receive()
        while response["type"] != "response":
            response = client.receive()
        assert not response["success"] and says in response["message"], response
        assert client.ask("threads")["threads"]  # the session goes on
        client.ask("disconnect")
    assert client.status == 0


def test_arguments_of_wrong_types_at_a_stop():
    with Client() as client:
        client.begin(launch("reverse", "wait"), functions=["reverse"])
        client.wait("stopped")
        for command, given in (
            ("stackTrace", {"threadId": "x"}),
            ("stackTrace", {"threadId": 1, "startFrame": -1}),
            ("scopes", {"frameId": 1.5}),
            ("variables", {"variablesReference": float("inf")}),
            ("evaluate", {"expression": ["x"]}),
            ("evaluate", {"expression": "10**5000"}),
            ("evaluate", {"expression": "(" * 5000}),
            ("next", {"threadId": None}),
        ):
            response = client.response(command, **given)
            assert not response["success"] and command in response["message"], response
        client.ask("disconnect")


def test_a_message_that_is_nested_too_deeply_ends_the_session():
    with Client() as client:
        client.ask("initialize")
        client.send(b"[" * 200_000)
    assert client.status == 0


@pytest.mark.parametrize("port", ["99999", "-1", "x", "65536", "", "9" * 5000])
def test_ports_that_there_are_not(port):
    command = [sys.executable, "-m", "cupola", "debug", "--dap", f"--port={port}"]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 2 and "expected a port from 0 to 65535" in done.stderr
