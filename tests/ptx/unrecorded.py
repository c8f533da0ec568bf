"""Tests of this folder whose arrays are not held against a recording of a GPU, with the reasons.

A key is a file, or a test in it; the summary of a run prints which of them apply. Everything else
that reads an array back fails where the recording has none (`recording.py`).
"""

COMPILED = "PTX of the compiler at hand"
ESTIMATES = "estimates (.approx) of a GPU differ within their bounds"
# Tests that no recording ever includes.
NEVER = {
    "test_manual.py": "asks no device",
    "test_recording_coverage.py": "asks no device",
    "test_fuzz.py": "held against recordings of its own",
    "test_contraction_recorded.py": "held against a recording of its own",
    "test_matrix_recorded.py": "held against a recording of its own",
    "test_texture_recorded.py": "held against a recording of its own",
    "test_libdevice.py": COMPILED,
    "test_matrix_code.py": COMPILED,
    "test_nvrtc.py::test_functions": ESTIMATES,
    "test_toolkit.py": COMPILED,
    "test_toolkit_half.py": COMPILED,
    "test_toolkit_copies.py": COMPILED,
    "test_mbarrier_phases.py": "newer than the PTX of the driver that recorded",
    "test_native.py": "of the CPU device alone",
    "test_native_compiler.py": "of the CPU device alone",
    "test_native_source.py": "of the CPU device alone",
    "test_triton.py": ESTIMATES,
    "test_call.py::test_function_pointers": COMPILED,
    "test_call.py::test_pieces_do_not_overlap": COMPILED,
    "test_call.py::test_virtual_functions_of_objects_made_with_new": COMPILED,
    "test_call.py::test_what_malloc_gave_outlives_the_launch": COMPILED,
    "test_control.py::test_compiled_kernel": ESTIMATES,
    "test_control.py::test_nanosleep_takes_its_time": "times",
    "test_control.py::test_warps_sleep_at_the_same_time": "times",
    "test_declarations.py::test_volatile_accesses_of_local_memory": "ptxas refuses them",
    "test_device_runtime.py": "the functions are the CPU device's own",
    "test_linking.py": "hardware runs machine code that is linked, which is no PTX to go by",
    "test_atomics.py::test_atomics_of_128_bits": "leaves addresses",
    "test_atomics.py::test_128_bits_are_never_seen_in_halves": "threads race",
    "test_registers.py::test_parameters_in_registers": "hardware runs a text without the functions "
    "that ptxas refuses",
    "test_rows.py::test_newer_row": "newer than the PTX of the driver that recorded",
    "test_special.py::test_warps_and_multiprocessors": "each device's own choice",
    "test_special.py::test_grids_have_numbers_of_their_own": "each device's own choice",
    "test_special.py::test_shared_memory": "each device's own choice",
    "test_special.py::test_clocks_do_not_go_back": "times",
    "test_special.py::test_halves_of_clocks": "times",
    "test_special.py::test_the_global_timer_counts_nanoseconds": "times",
    "test_tensor_gpu_maps.py": "the test writes the maps",
    "test_tensor_changes.py::test_a_map_changed_in_global_memory": "a map's layout is the driver's",
}

# Tests that have no recording yet. Remove them when the next recording has them.
AWAITING = {
    "test_cluster_ranks.py": "newer than the recording",
    "test_modifiers.py::test_blanks_before_modifiers_change_nothing": "newer than the recording",
    "test_rows.py::test_row_without_a_recording": "newer than the recording",
    "test_mbarrier.py::test_an_object_is_invalidated_twice": "newer than the recording",
}
# Rows that have no recording yet: mnemonic and types. The next recording has them, too.
AWAITING_ROWS = {("set", ("f16",)), ("set", ("bf16",))}


def _entry(listed, name):
    file, _, test = name.partition("::")
    return listed.get(file) or listed.get(f"{file}::{test.partition('[')[0]}")


def never(name):
    return _entry(NEVER, name)


def awaits(row):
    """Whether a row of the instruction table has no recording yet."""
    return (row.mnemonic, row.types) in AWAITING_ROWS


def reason(name):
    """Why a test need not have a recording; None where it must."""
    return _entry(NEVER, name) or _entry(AWAITING, name)
