# cupola/dlpack.pyi - arrays of other libraries.
from cupola.array import Array, _DLPack
from cupola.device import _DeviceLike

def from_dlpack(
    source: _DLPack, *, device: _DeviceLike | None = None, copy: bool | None = None
) -> Array: ...
