# cupola/dlpack.pyi - arrays of other libraries.
from cupola.array import Array, _DLPack

def from_dlpack(source: _DLPack, *, copy: bool | None = None) -> Array: ...
