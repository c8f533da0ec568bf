"""Which of many pieces of PTX NVIDIA's assembler takes, in few runs of it.

A piece is one line, whose names are its own. An error names its line, so a run tells of many lines
at once; what is left is asked again until the assembler takes all of it.
"""

import re
import subprocess

HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"


class Assembler:
    def __init__(self, ptxas, folder, target="sm_90"):
        self.command = [str(ptxas), f"-arch={target}", "-O0"]
        self.folder = folder
        self.runs = 0

    def run(self, text):
        """(what it says, or None where it takes the text; the machine code's path)."""
        self.runs += 1
        source = self.folder / f"{self.runs}.ptx"
        made = source.with_suffix(".cubin")
        source.write_text(text)
        command = [*self.command, source, "-o", made]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        source.unlink()
        return (done.stderr or "failed") if done.returncode else None, made

    def verdicts(self, lines, head=HEAD):
        """For each line why it is refused, or None."""
        found = [None] * len(lines)
        self._ask(head, lines, list(range(len(lines))), found)
        return found

    def _ask(self, head, lines, pending, found):
        first = head.count("\n") + 1
        while pending:
            said, made = self.run(head + "\n".join(lines[n] for n in pending) + "\n")
            made.unlink(missing_ok=True)
            if said is None:
                return
            refused = {}
            for message in said.splitlines():
                if "error" not in message and "fatal" not in message:
                    continue
                if line := re.search(r"(?:, line |Line No: )(\d+)", message):
                    at = int(line[1]) - first
                    if 0 <= at < len(pending):
                        refused.setdefault(pending[at], message)
            if len(pending) == 1:
                refused.setdefault(pending[0], said.splitlines()[0])
            if not refused:  # the message names no line
                half = len(pending) // 2
                self._ask(head, lines, pending[:half], found)
                self._ask(head, lines, pending[half:], found)
                return
            for n, message in refused.items():
                found[n] = message.partition(";")[2].strip() or message
            pending = [n for n in pending if n not in refused]
