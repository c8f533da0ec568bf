"""A plugin: how many arrays a run held against the bits of a GPU, which tests it did not, and which
slices ran as machine code.
"""

from collections import Counter

from . import recording


def properties(reporter):
    reports = [r for of in reporter.stats.values() for r in of if getattr(r, "when", "") == "call"]
    return [pair for r in reports for pair in r.user_properties]


def pytest_terminal_summary(terminalreporter):
    found = properties(terminalreporter)
    for text in (text for kind, text in found if kind == "slice"):
        terminalreporter.write_line(text)
    compared = [n for kind, n in found if kind == "compared"]
    elsewhere = sum(kind == "on another device" for kind, _ in found)
    if not compared and not elsewhere:
        return
    bits = recording.recorded()
    tests = sum(n > 0 for n in compared)
    write = terminalreporter.write_line
    write(f"{sum(compared)} arrays of {tests} tests were compared with those of {bits.device}")
    if elsewhere:
        write(f"{elsewhere} tests were compared with nothing: this is another device")
    reasons = Counter(text for kind, text in found if kind == "unrecorded")
    by_file = Counter()
    for text, count in reasons.items():
        name, _, why = text.partition(": ")
        by_file[name.partition("::")[0], why] += count
    for (file, why), count in sorted(by_file.items()):
        write(f"not held against a recording: {count} tests of {file}: {why}")
