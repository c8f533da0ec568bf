"""cupola.random's bits: known answers, NumPy implementations of both generators, states."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cupola
from cupola.exceptions import ArgumentTypeError, ArgumentValueError

random = cupola.random
quickly = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
# Random123's file of known answers, philox4x32 with 10 rounds: counter, key, words.
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000",
     "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff",
     "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0",
     "d16cfe09 94fdcceb 5001e420 24126ea1"),
]  # fmt: skip


def philox(key, low, third=0, fourth=0):
    """Rows of four words for counters with these low halves; `third` may be an array, too."""
    low, third = np.broadcast_arrays(np.asarray(low, np.uint64), np.asarray(third, np.uint64))
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    c = [low & mask, low >> half, third, np.full(low.shape, fourth, np.uint64)]
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        p, q = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [
            q >> half ^ c[1] ^ np.uint64(k0),
            q & mask,
            p >> half ^ c[3] ^ np.uint64(k1),
            p & mask,
        ]
        k0, k1 = k0 + 0x9E3779B9 & 0xFFFFFFFF, k1 + 0xBB67AE85 & 0xFFFFFFFF
    return np.stack(c, -1).astype(np.uint32)


def xorwow(state, count):
    """The next words of one subsequence."""
    (*x, d), mask, made = [int(word) for word in state], 0xFFFFFFFF, []
    for _ in range(count):
        t = x[0] ^ x[0] >> 2
        x = [*x[1:], (x[4] ^ x[4] << 4 ^ t ^ t << 1) & mask]
        d = d + 362437 & mask
        made.append(x[4] + d & mask)
    return np.array(made, np.uint32)


def pairs(words):
    return words.reshape(-1, 2).astype(np.uint64) @ np.array([1, 1 << 32], np.uint64)


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN)
def test_philox_has_random123s_known_answers(driver, counter, key, words):
    numbers = [sum(int(w, 16) << 32 * i for i, w in enumerate(t.split())) for t in (counter, key)]
    bits = random.Philox(counter=numbers[0], key=numbers[1])
    assert [f"{word:08x}" for word in bits.random_raw(4).get()] == words.split()
    # The reference of the other tests has them, too.
    c = [int(word, 16) for word in counter.split()]
    assert [f"{w:08x}" for w in philox(numbers[1], c[1] << 32 | c[0], c[2], c[3])] == words.split()


@quickly
@given(
    n=st.one_of(st.integers(0, 40), st.integers(1000, 5000)),
    key=st.integers(0, 2**64 - 1),
    position=st.one_of(st.integers(0, 2**20), st.integers(2**64 - 500, 2**64 - 1)),
)
def test_uniform_numbers_are_the_words(driver, n, key, position):
    def generator():
        return random.Generator(random.Philox(key=key, counter=position))

    where = [(position + i) % 2**64 for i in range(-(-n // 2))]
    words = philox(key, np.array(where, np.uint64)).ravel()
    np.testing.assert_array_equal(generator().bit_generator.random_raw(n).get(), words[:n])
    single = (words[:n] >> 8).astype(np.float32) * np.float32(2**-24)
    np.testing.assert_array_equal(generator().random(n, np.float32).get(), single)
    double = (pairs(words)[:n] >> np.uint64(11)) * 2.0**-53
    np.testing.assert_array_equal(generator().random(n).get(), double)
    got = generator().uniform(-3, 0.1, n).get()
    np.testing.assert_array_equal(got, -3 + (0.1 - -3) * double)
    low, high = np.float32(-3), np.float32(0.1 - -3)
    got = generator().uniform(-3, 0.1, n, dtype=np.float32).get()
    np.testing.assert_array_equal(got, low + high * single)


def lemire(key, n, low, high, dtype):
    """The reference: element by element, with rejections from the item's further counters."""
    count, bits = high - low + 1, 32 if high - low < 2**32 else 64
    group = 128 // bits
    items = range(-(-n // group))
    first = philox(key, np.arange(len(items)))
    made = []
    for item in items:
        words = list(pairs(first[item]) if bits == 64 else first[item])
        block = 0
        for j in range(group):
            product = int(words[j]) * count
            while product % 2**bits < 2**bits % count:
                block += 1
                more = philox(key, item, block)
                product = int((pairs(more) if bits == 64 else more)[j]) * count
            made.append(low + (product >> bits))
    return np.array(made[:n], object).astype(dtype)


BOUNDS = {
    "?": [(0, 1), (1, 1)],
    "i1": [(-128, 127), (-3, 3)],
    "u2": [(0, 65535), (7, 40000)],
    "i4": [(-(2**31), 2**31 - 1), (-5, 5)],
    "u4": [(0, 2**32 - 1), (1, 3 << 30)],
    "i8": [(-(2**63), 2**63 - 1), (-(2**62), 2**62), (-1, 2**32 - 2), (-1, 2**32 - 1)],
    "u8": [(0, 2**64 - 1), (5, 3 << 62), (2**63, 2**63 + 6), (0, 3 << 30)],
}


@pytest.mark.parametrize("dtype", BOUNDS)
def test_integers_are_those_of_lemires_method(driver, dtype):
    """Of intervals that reject up to a quarter of the words."""
    for low, high in BOUNDS[dtype]:
        for n in (0, 1, 203):
            generator = random.Generator(random.Philox(key=99))
            got = generator.integers(low, high, n, dtype, endpoint=True)
            assert got.dtype == np.dtype(dtype) and got.shape == (n,)
            np.testing.assert_array_equal(got.get(), lemire(99, n, low, high, dtype))


def test_numbers_do_not_depend_on_the_size_of_the_launch(driver):
    """More items than threads of a launch, in parts and as one array."""
    whole = random.Generator(random.Philox(7)).random(1 << 18, np.float32).get()
    parts = random.Generator(random.Philox(7))
    sizes = [4, 1 << 12, (1 << 17) + 4, (1 << 17) - (1 << 12) - 8]
    found = [parts.random(n, np.float32).get() for n in sizes]
    np.testing.assert_array_equal(np.concatenate(found), whole)
    assert parts.bit_generator.state["state"]["counter"].tolist() == [1 << 16, 0, 0, 0]


def test_xorwow_follows_its_recurrence(driver):
    bits = random.XORWOW(5)
    states = bits.state["state"]["words"]
    n = 3 * (1 << 18) + 8  # so that subsequences 0 and 1 give four items
    got = bits.random_raw(n).get()
    for k, count in ((0, 16), (1, 16), (2, 12), (65535, 12)):
        items = [got[4 * i : 4 * i + 4] for i in range(k, n // 4, 65536)]
        np.testing.assert_array_equal(np.concatenate(items), xorwow(states[:, k], count))
    more = bits.random_raw(3).get()
    np.testing.assert_array_equal(more, xorwow(states[:, 0], 20)[16:19])


def test_xorwows_subsequences_are_skips(driver):
    """By skips of one and the same matrix, and by the recurrence itself."""
    bits = random.XORWOW(6)
    words = bits.state["state"]["words"]
    bits.advance(1000)
    after = bits.state["state"]["words"]
    np.testing.assert_array_equal(bits.random_raw(4).get(), xorwow(words[:, 0], 1004)[1000:])
    assert (after[5] == words[5] + np.uint32(1000 * 362437)).all()
    again = random.XORWOW(6).advance(2**67)
    ahead = again.state["state"]["words"]
    np.testing.assert_array_equal(ahead[:, :-1], words[:, 1:])


@pytest.mark.parametrize("make", [random.Philox, random.XORWOW])
def test_states_continue(driver, make):
    generator = random.Generator(make(11))
    generator.standard_normal(100)
    kept = generator.bit_generator.state
    copies = [pickle.loads(pickle.dumps(generator)), copy.deepcopy(generator)]
    expected = generator.random(50).get()
    generator.bit_generator.state = kept
    np.testing.assert_array_equal(generator.random(50).get(), expected)
    for other in copies:
        np.testing.assert_array_equal(other.random(50).get(), expected)
        assert other.bit_generator.seed_seq.entropy == 11


@pytest.mark.parametrize("make", [random.Philox, random.XORWOW])
def test_children_differ_and_repeat(driver, make):
    first, again = (random.Generator(make(3)).spawn(3) for _ in range(2))
    numbers = [child.integers(0, 2**64, 20, np.uint64).get() for child in first]
    np.testing.assert_array_equal(
        numbers, [child.integers(0, 2**64, 20, np.uint64).get() for child in again]
    )
    assert len(np.unique(numbers)) == 60
    more = random.Generator(make(np.random.SeedSequence(3).spawn(1)[0]))
    np.testing.assert_array_equal(more.integers(0, 2**64, 20, np.uint64).get(), numbers[0])


def test_jumps_and_skips(driver):
    bits = random.Philox(key=8)
    expected = bits.random_raw(40).get()
    bits.advance(-8)
    np.testing.assert_array_equal(bits.random_raw(8).get(), expected[8:16])
    jumped = random.Philox(key=8).jumped(3)
    np.testing.assert_array_equal(jumped.random_raw(8).get(), philox(8, [0, 1], 0, 3).ravel())


def test_seeds(driver):
    rng = random.default_rng(5)
    assert random.default_rng(rng) is rng
    assert random.default_rng(rng.bit_generator).bit_generator is rng.bit_generator
    a, b = (random.default_rng().integers(0, 2**63, 4).get() for _ in range(2))
    assert (a != b).all()
    np.testing.assert_array_equal(
        random.default_rng([1, 2]).random(3).get(), random.default_rng([1, 2]).random(3).get()
    )
    for seed, error in ((-1, ArgumentValueError), ("five", ArgumentTypeError)):
        with pytest.raises(error, match="seed: expected"):
            random.default_rng(seed)
    with pytest.raises(ArgumentValueError, match="a seed or a key"):
        random.Philox(1, key=2)
    with pytest.raises(ArgumentValueError, match=r"counter: expected an int from 0 to 2\*\*128"):
        random.Philox(counter=2**128)
    with pytest.raises(ArgumentTypeError, match="bit_generator: expected"):
        random.Generator(np.random.PCG64())
    with pytest.raises(ArgumentValueError, match="state of a Philox"):
        random.Philox(1).state = {
            "bit_generator": "MT",
            "state": {"counter": [0] * 4, "key": [0, 0]},
        }
    with pytest.raises(ArgumentTypeError, match="expected a dict"):
        random.Philox(1).state = {}
    with pytest.raises(ArgumentValueError, match="expected words of shape"):
        random.XORWOW(1).state = {"bit_generator": "XORWOW", "state": {"words": [1, 2]}}


@pytest.mark.cuda_only(reason="4 GiB of numbers take the CPU device minutes")
def test_more_than_32_bits_of_numbers(driver):
    n = 2**32 + 5
    free = cupola.memory_info().free
    assert free > n + 2**28, f"the test needs 4.3 GB of the device, and {free} bytes are free"
    made = random.Generator(random.Philox(key=13)).integers(0, 256, n, np.uint8)
    items = np.array([0, 2**29, 2**30 - 1, 2**30, 2**30 + 1], np.uint64)
    expected = philox(13, items) >> 24
    for item, words in zip(items.tolist(), expected, strict=True):
        found = made[4 * item : 4 * item + 4].get()
        np.testing.assert_array_equal(found, words[: found.size])
