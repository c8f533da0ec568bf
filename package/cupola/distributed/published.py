# cupola/distributed/published.py - objects that each worker has once, and tasks name by a hash.
"""Kernels, modules and functions on all workers of a cluster, also on those that come later."""

from __future__ import annotations

import contextlib
import hashlib
import pickle
import threading
import uuid
from typing import Any

import cloudpickle
from distributed import Client, WorkerPlugin

from cupola.core.pickled_images import this_process
from cupola.exceptions import ArgumentTypeError, LibraryError, UnknownNameError
from cupola.version import __version__

# Attempts to send a plugin: a worker that ends meanwhile fails the whole call.
ATTEMPTS = 5


class _Entry:
    """A pickle, and its object once it was used."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.holders: set[tuple[str, str]] = set()
        self.lock = threading.Lock()
        self.value: Any = None
        self.is_loaded = False


_entries: dict[str, _Entry] = {}
_lock = threading.Lock()


def _hold(digest: str, content: bytes, holder: tuple[str, str]) -> None:
    with _lock:
        _entries.setdefault(digest, _Entry(content)).holders.add(holder)


def _drop(digest: str, holder: tuple[str, str]) -> None:
    with _lock:
        entry = _entries.get(digest)
        if entry is not None:
            entry.holders.discard(holder)
            if not entry.holders:
                del _entries[digest]


class _Publication(WorkerPlugin):
    """Brings a pickle to each worker. It is unpickled by the first task that uses it."""

    def __init__(self, name: str, digest: str, content: bytes) -> None:
        self.name, self.digest, self.content = name, digest, content

    def setup(self, worker: Any) -> None:
        _hold(self.digest, self.content, (self.name, worker.id))

    def teardown(self, worker: Any) -> None:
        _drop(self.digest, (self.name, worker.id))


class Published:
    """A kernel, module, function or other object that each worker of a cluster has once.

    Made by `publish`. Its pickle has a hash and no content, so it is small in each task.

    Attributes
    ----------
    digest : str
        The SHA-256 of the object's pickle, in hexadecimal digits.
    title : str
        The object's name, for messages.
    version : str
        The version of cupola that published it.
    """

    def __init__(self, digest: str, title: str, version: str) -> None:
        self.digest, self.title, self.version = digest, title, version
        self._client: Client | None = None
        self._name = ""

    def get(self) -> Any:
        """The object itself; the first call in a process unpickles it, and loads its images.

        Raises
        ------
        LibraryError
            Where this worker has another version of cupola.
        NotFoundError
            Where this process does not have the object, or lacks a package that it needs.
        ImageError
            Where a package of this worker has another image, or the image has no code for the
            worker's device.
        """
        if self.version != __version__:
            raise LibraryError(
                f"{this_process()} has cupola {__version__}, and {self.title} was published by "
                f"cupola {self.version}: install the same version in all processes"
            )
        entry = _entries.get(self.digest)
        if entry is None:
            raise UnknownNameError(
                f"{this_process()} does not have {self.title} (SHA-256 {self.digest}): it was "
                "withdrawn, or published to another cluster; call cupola.distributed.publish with "
                "this cluster's client"
            )
        with entry.lock:
            if not entry.is_loaded:
                entry.value = pickle.loads(entry.content)
                entry.is_loaded = True
        return entry.value

    def withdraw(self) -> None:
        """Remove the object from the cluster; tasks that use it later fail."""
        client, self._client = self._client, None
        if client is not None:
            _drop(self.digest, (self._name, client.id))
            client.unregister_worker_plugin(self._name)

    def __enter__(self) -> Published:
        return self

    def __exit__(self, *error: object) -> None:
        self.withdraw()

    def __reduce__(self) -> tuple[Any, ...]:
        return Published, (self.digest, self.title, self.version)

    def __repr__(self) -> str:
        return f"<cupola.distributed.Published {self.title} {self.digest[:12]}>"


def publish(value: Any, client: Client) -> Published:
    """Send an object once to each worker of a cluster, and to each that joins later.

    Tasks take the result as an argument and call its `get`. A kernel of an installed package is
    sent by name and hash, another kernel with its image.

    Parameters
    ----------
    value : object
        A kernel, a module, a function, or anything that cloudpickle can pickle.
    client : distributed.Client
        A client that is not asynchronous.

    Returns
    -------
    Published
        A context manager, which withdraws the object at its end.

    Raises
    ------
    ArgumentTypeError
        Where `client` is no synchronous client.
    LibraryError
        Where workers have other versions of cupola, or none; the text names them.
    """
    require_client(client)
    title = str(getattr(value, "title", None) or getattr(value, "__name__", type(value).__name__))
    content = cloudpickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    require_same_version(client)
    found = Published(hashlib.sha256(content).hexdigest(), title, __version__)
    name = f"cupola-{found.digest[:12]}-{uuid.uuid4().hex}"
    _hold(found.digest, content, (name, client.id))
    found._client, found._name = client, name
    try:
        _register(client, _Publication(name, found.digest, content))
    except BaseException:
        with contextlib.suppress(Exception):
            found.withdraw()
        raise
    return found


def _register(client: Client, plugin: _Publication) -> None:
    for left in reversed(range(ATTEMPTS)):
        try:
            client.register_plugin(plugin, plugin.name)
        except OSError:  # a worker ended; the scheduler has the plugin for those that follow
            if not left or client.status != "running":
                raise
        else:
            return


def require_client(client: Any) -> None:
    """Check that it is a client whose calls wait for their results."""
    if not isinstance(client, Client):
        raise ArgumentTypeError(f"client= must be a distributed.Client, got {client!r}")
    if client.asynchronous:
        raise ArgumentTypeError(
            "client= must be a client that waits for results, got an asynchronous one: make it "
            "with distributed.Client(address), and call this outside of the event loop"
        )


def version_here() -> str:
    """The version of cupola in this process."""
    return __version__


def require_same_version(client: Client) -> None:
    """Check that all workers have this version of cupola."""
    known = client.run(version_here, on_error="return")
    wrong = [
        f"{worker} has {_described(version)}"
        for worker, version in known.items()
        # A worker that ended meanwhile has no version. Tasks check the worker that replaces it.
        if version != __version__ and not isinstance(version, OSError)
    ]
    if wrong:
        raise LibraryError(
            f"this process has cupola {__version__}; {'; '.join(wrong)}: install the same version "
            "in all of them"
        )


def _described(version: str | Exception) -> str:
    if isinstance(version, ImportError):
        return f"no cupola that can be imported ({version})"
    return f"cupola {version}"
