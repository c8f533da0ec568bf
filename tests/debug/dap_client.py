"""A client of the Debug Adapter Protocol: the adapter in a process, by pipes or a socket."""

import json
import re
import socket
import subprocess
import sys
import threading

import sessions


class Client:
    def __init__(self, *arguments, port=False):
        command = [sys.executable, "-m", "cupola", "debug", "--dap", *(["--port", "0"] * port)]
        self.process = subprocess.Popen(
            [*command, *map(str, arguments)],
            env=sessions.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if port else None,
        )
        self.reader, self.writer = self.process.stdout, self.process.stdin
        self.link = None
        if port:
            said = self.process.stderr.readline().decode()
            number = int(re.fullmatch(r"cupola: listening on port (\d+)\n", said)[1])
            self.link = socket.create_connection(("127.0.0.1", number))
            self.reader, self.writer = self.link.makefile("rb"), self.link.makefile("wb")
        self.watch = threading.Timer(60, self.process.kill)  # a test waits no longer
        self.watch.start()
        self.last = 0
        self.events = []

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.writer.close()
        if self.link:
            self.link.close()
        try:
            self.status = self.process.wait(20)
        finally:
            self.watch.cancel()
            self.process.kill()

    def send(self, data):
        self.writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(data), data))
        self.writer.flush()

    def receive(self):
        size = 0
        while line := self.reader.readline().strip():
            size = int(line.split(b":")[1])
        assert size, "the adapter has closed the connection"
        return json.loads(self.reader.read(size))

    def ask(self, command, **arguments):
        """The body of the response; events that come before it are kept."""
        response = self.response(command, **arguments)
        assert response["success"], response
        return response["body"]

    def response(self, command, **arguments):
        self.last += 1
        request = {"seq": self.last, "type": "request", "command": command}
        self.send(json.dumps({**request, "arguments": arguments}).encode())
        while (message := self.receive())["type"] == "event":
            self.events.append(message)
        assert message["request_seq"] == self.last and message["command"] == command
        return message

    def wait(self, name):
        """The body of the next event of a name."""
        while True:
            for n, event in enumerate(self.events):
                if event["event"] == name:
                    del self.events[n]
                    return event["body"]
            message = self.receive()
            assert message["type"] == "event", message
            self.events.append(message)

    def begin(self, launch, lines=(), functions=(), **condition):
        """Start a program with breakpoints; the responses that tell of them."""
        assert self.ask("initialize", adapterID="cupola")["supportsConfigurationDoneRequest"]
        self.wait("initialized")
        self.ask("launch", **launch)
        source = {"path": str(sessions.SOURCE)}
        points = [{"line": line, **condition} for line in lines]
        found = self.ask("setBreakpoints", source=source, breakpoints=points)["breakpoints"]
        names = [{"name": name} for name in functions]
        found += self.ask("setFunctionBreakpoints", breakpoints=names)["breakpoints"]
        self.ask("configurationDone")
        return found

    def variables(self, frame, scope):
        """Names and values of a scope of a frame."""
        scopes = self.ask("scopes", frameId=frame)["scopes"]
        (reference,) = [each["variablesReference"] for each in scopes if each["name"] == scope]
        listed = self.ask("variables", variablesReference=reference)["variables"]
        return {each["name"]: each for each in listed}
