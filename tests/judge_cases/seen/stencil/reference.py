"""One step of heat flow: five points inside, and the boundary is copied."""

operation = dict(
    kernels="stencil",
    inputs={"u": "float32[ny, nx]"},
    outputs={"v": "float32[ny, nx]"},
    scalars={"rate": "float"},
    arguments=["u", "v", "ny", "nx", "rate"],
    grid=["ceildiv(nx, 32)", "ceildiv(ny, 8)"],
    block=[32, 8],
)
sizes = {"ny": (0, 90), "nx": (0, 130)}
ranges = {"u": (-8, 8), "rate": (0, 1)}
rtol, atol = 1e-5, 1e-4


def reference(u, rate):
    v = u.copy()
    around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    v[1:-1, 1:-1] += (rate * (around - 4 * u[1:-1, 1:-1])).astype("float32")
    return v
