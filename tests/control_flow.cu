// tests/control_flow.cu - kernels of every control flow, which count themselves.
//
// HIT(k) adds one to counter k of the kernel's own counters, for each thread that runs its line.
// The count of coverage for that line has to be the same. Each number occurs once.
#define HIT(k) atomicAdd(&hits[k], 1ull)
using Hits = unsigned long long*;

#define KERNEL(name) extern "C" __global__ void name(Hits hits, const int* x, int n)
#define INDEX const int i = blockIdx.x * blockDim.x + threadIdx.x

KERNEL(straight) {
    INDEX;
    HIT(0);
    if (x[i % n] == 12345) {
        HIT(1);
    }
}

KERNEL(early_return) {
    INDEX;
    HIT(2);
    if (i >= n) {
        HIT(3);
        return;
    }
    HIT(4);
}

KERNEL(two_returns) {
    INDEX;
    if (i >= n) return;
    HIT(5);
    if (x[i] < 0) {
        HIT(6);
        return;
    }
    HIT(7);
}

KERNEL(if_else) {
    INDEX;
    if (x[i % n] & 1) {
        HIT(8);
    } else {
        HIT(9);
    }
    HIT(10);
}

KERNEL(else_if_chain) {
    INDEX;
    const int v = x[i % n] % 5;
    if (v == 0) {
        HIT(11);
    } else if (v == 1) {
        HIT(12);
    } else if (v == 2) {
        HIT(13);
    } else {
        HIT(14);
    }
}

KERNEL(nested_if) {
    INDEX;
    if (x[i % n] > 0) {
        HIT(15);
        if (i & 1) {
            HIT(16);
            if (i & 2) {
                HIT(17);
            }
        }
    }
}

KERNEL(for_loop) {
    INDEX;
    for (int j = 0; j < i % 7; ++j) {
        HIT(18);
    }
    HIT(19);
}

KERNEL(nested_loops) {
    INDEX;
    for (int j = 0; j < i % 5; ++j) {
        HIT(20);
        for (int k = j; k < 4; ++k) {
            HIT(21);
        }
    }
}

KERNEL(while_loop) {
    INDEX;
    int v = i + 1;
    while (v != 1) {
        HIT(22);
        v = v & 1 ? 3 * v + 1 : v / 2;
    }
}

KERNEL(do_while) {
    INDEX;
    int v = i;
    do {
        HIT(23);
        v /= 3;
    } while (v > 0);
}

KERNEL(loop_with_break) {
    INDEX;
    for (int j = 0; j < n; ++j) {
        HIT(24);
        if (x[j] == i % 20) {
            HIT(25);
            break;
        }
    }
}

KERNEL(loop_with_continue) {
    INDEX;
    for (int j = 0; j < 9; ++j) {
        if ((i + j) % 3 == 0) {
            HIT(26);
            continue;
        }
        HIT(27);
    }
}

KERNEL(endless_loop_with_return) {
    INDEX;
    for (int j = i;; j += 7) {
        HIT(28);
        if (j > 60) {
            HIT(29);
            return;
        }
    }
}

KERNEL(small_switch) {
    INDEX;
    switch (x[i % n] & 3) {
        case 0:
            HIT(30);
            break;
        case 1:
            HIT(31);
            break;
        default:
            HIT(32);
    }
}

KERNEL(switch_falls_through) {
    INDEX;
    switch (i % 5) {
        case 3:
            HIT(33);
        case 2:
            HIT(34);
            break;
        case 1:
            HIT(35);
    }
    HIT(36);
}

KERNEL(large_switch) {
    INDEX;
    switch (i % 12) {
        case 0:
            HIT(37);
            break;
        case 1:
            HIT(38);
            break;
        case 2:
            HIT(39);
            break;
        case 3:
            HIT(40);
            break;
        case 4:
            HIT(41);
            break;
        case 5:
            HIT(42);
            break;
        case 6:
            HIT(43);
            break;
        case 7:
            HIT(44);
            break;
        case 8:
            HIT(45);
            break;
        case 9:
            HIT(46);
            break;
        default:
            HIT(47);
    }
}

KERNEL(short_circuit_and) {
    INDEX;
    if (i < n && x[i] > 0 && (i & 1)) {
        HIT(48);
    }
    HIT(49);
}

KERNEL(short_circuit_or) {
    INDEX;
    if (i >= n || x[i] < 3 || x[i] > 11) {
        HIT(50);
    } else {
        HIT(51);
    }
}

KERNEL(conditional_operator) {
    INDEX;
    const int v = i & 1 ? x[i % n] : -i;
    HIT(52);
    if (v < 0) {
        HIT(53);
    }
}

KERNEL(forward_goto) {
    INDEX;
    if (i % 3 == 0) goto end;
    HIT(54);
    if (i % 3 == 1) goto end;
    HIT(55);
end:
    HIT(56);
}

KERNEL(backward_goto) {
    INDEX;
    int v = i;
again:
    HIT(57);
    v -= 5;
    if (v > 0) goto again;
}

__device__ __forceinline__ int inlined(Hits hits, int v) {
    if (v > 6) {
        HIT(58);
        return 6;
    }
    HIT(59);
    return v;
}

KERNEL(inlined_once) {
    INDEX;
    if (inlined(hits, i) == 6) {
        HIT(60);
    }
}

__device__ __forceinline__ int inlined_again(Hits hits, int v) {
    HIT(61);
    if (v & 1) {
        HIT(62);
        return v / 2;
    }
    return v;
}

KERNEL(inlined_at_two_places) {
    INDEX;
    const int a = inlined_again(hits, i);
    const int b = inlined_again(hits, a);
    if (a == b) {
        HIT(63);
    }
}

__device__ __forceinline__ int outer(Hits hits, int v) {
    HIT(64);
    int sum = 0;
    for (int k = 0; k < v % 3; ++k) {
        HIT(65);
        sum += k;
    }
    return sum;
}

KERNEL(inlined_in_a_loop) {
    INDEX;
    for (int j = 0; j < 3; ++j) {
        if (outer(hits, i + j) > 0) {
            HIT(66);
        }
    }
}

__device__ __noinline__ int called(Hits hits, int v) {
    HIT(67);
    if (v < 10) return v;
    HIT(68);
    return v - 10;
}

KERNEL(called_twice) {
    INDEX;
    if (called(hits, i) > called(hits, 2 * i)) {
        HIT(69);
    }
}

__device__ __noinline__ int fibonacci(Hits hits, int v) {
    HIT(70);
    if (v < 2) {
        HIT(71);
        return v;
    }
    HIT(72);
    return fibonacci(hits, v - 1) + fibonacci(hits, v - 2);
}

KERNEL(recursive) {
    INDEX;
    if (fibonacci(hits, i % 7) > 5) {
        HIT(73);
    }
}

__device__ __noinline__ int odd(Hits hits, int v);
__device__ __noinline__ int even(Hits hits, int v) {
    HIT(74);
    return v == 0 ? 1 : odd(hits, v - 1);
}
__device__ __noinline__ int odd(Hits hits, int v) {
    HIT(75);
    return v == 0 ? 0 : even(hits, v - 1);
}

KERNEL(mutually_recursive) {
    INDEX;
    if (even(hits, i % 9)) {
        HIT(76);
    }
}

template <class T>
__device__ __noinline__ T limited(Hits hits, T v, T limit) {
    HIT(77);
    if (v > limit) {
        HIT(78);
        return limit;
    }
    return v;
}

KERNEL(templates) {
    INDEX;
    if (limited(hits, i, 9) + limited(hits, i + 0.5f, 3.f) + limited(hits, 1.0 * i, 50.0) > 20) {
        HIT(79);
    }
}

using Function = int (*)(Hits, int);
__device__ __noinline__ int first(Hits hits, int v) {
    HIT(80);
    return v;
}
__device__ __noinline__ int second(Hits hits, int v) {
    HIT(81);
    return -v;
}

KERNEL(function_pointers) {
    INDEX;
    const Function chosen = i % 3 ? &first : &second;
    if (chosen(hits, i) < 0) {
        HIT(82);
    }
}

KERNEL(barriers) {
    __shared__ int shared[1024];
    INDEX;
    shared[threadIdx.x] = x[i % n];
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            HIT(83);
            shared[threadIdx.x] += shared[threadIdx.x + half];
        }
    }
    if (threadIdx.x == 0) {
        HIT(84);
    }
}

KERNEL(lambda) {
    INDEX;
    const auto near = [&](int v) {
        HIT(85);
        return v > 3 && v < 8;
    };
    if (near(i % 11)) {
        HIT(86);
    }
}

__device__ __noinline__ bool asked(Hits hits, bool answer) {
    HIT(89);
    return answer;
}

KERNEL(exits_in_a_call) {
    INDEX;
    const auto leave = [&](int v) {
        if (v & 1) {
            HIT(87);
            asm volatile("exit;");
        }
    };
    leave(i);
    HIT(88);
    if (asked(hits, i & 2)) {
        HIT(90);
    }
}
