# cupola/tools/__init__.py - programs for people: the command line, the debugger, timelines.
"""The command line, and the programs behind its commands."""
