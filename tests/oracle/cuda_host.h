// CUDA on the host, for the oracle: each thread of a block is a fiber with its own stack, one runs at a time, and one that
// waits for others hands over to the next. Nothing here is shared with qgc.
#pragma once
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <tuple>
#include <type_traits>
#include <ucontext.h>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __host__
// One block is resident at a time and all fibers share a host thread, so a thread-local variable is the block's own. Unlike
// a static one it may be `extern`: dynamic shared memory, which gcc.py defines.
#define __shared__ thread_local
#define __constant__ static
#define __forceinline__ inline
#define __launch_bounds__(...)

struct dim3 {
    unsigned x = 1, y = 1, z = 1;
};

static dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace oracle {

constexpr unsigned warp_size = 32;

struct Fiber {
    ucontext_t context;
    std::vector<char> stack;
    dim3 index;
    unsigned number;
    bool finished = false;
};

// A place where some threads of a block bring a value each and see the others'. The turns of a thread are numbered. It may be
// one turn ahead of a thread that has not looked yet, so values of two turns are kept.
struct Meeting {
    const char *what[2];
    std::map<unsigned, uint64_t> values[2];
    std::map<unsigned, unsigned long> turns;
};

static ucontext_t scheduler;
static std::vector<Fiber> fibers;
static Fiber *running;
static bool has_moved;  // since the scheduler's round began
static std::map<std::pair<unsigned, unsigned>, Meeting> meetings;
static void (*body)();

[[noreturn]] static void refuse(const char *message) {
    std::fprintf(stderr, "oracle: block (%u, %u, %u), thread (%u, %u, %u): %s\n", blockIdx.x, blockIdx.y, blockIdx.z,
                 threadIdx.x, threadIdx.y, threadIdx.z, message);
    std::exit(3);
}

static void enter() {
    body();
    running->finished = has_moved = true;
    swapcontext(&running->context, &scheduler);
}

static void create_fibers() {
    fibers = std::vector<Fiber>(blockDim.x * blockDim.y * blockDim.z);
    for (unsigned i = 0; i < fibers.size(); i++) {
        Fiber &fiber = fibers[i];
        fiber.stack.resize(1 << 16);
        fiber.number = i;
        fiber.index.x = i % blockDim.x;
        fiber.index.y = i / blockDim.x % blockDim.y;
        fiber.index.z = i / blockDim.x / blockDim.y;
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.data();
        fiber.context.uc_stack.ss_size = fiber.stack.size();
        fiber.context.uc_link = nullptr;
        makecontext(&fiber.context, enter, 0);
    }
}

// Runs every thread of the current block to its end. In a round each goes on until it waits for a thread that has not come.
static void run_block() {
    create_fibers();
    meetings.clear();
    for (bool alive = true; alive;) {
        alive = has_moved = false;
        for (Fiber &fiber : fibers) {
            if (fiber.finished) {
                continue;
            }
            running = &fiber;
            threadIdx = fiber.index;
            swapcontext(&scheduler, &fiber.context);
            alive = alive || !fiber.finished;
        }
        if (alive && !has_moved) {
            refuse("every thread waits for another");
        }
    }
}

static void run_grid(void (*kernel_body)()) {
    body = kernel_body;
    for (blockIdx.z = 0; blockIdx.z < gridDim.z; blockIdx.z++) {
        for (blockIdx.y = 0; blockIdx.y < gridDim.y; blockIdx.y++) {
            for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++) {
                run_block();
            }
        }
    }
}

// Brings a value to a meeting of `members` and returns those of all that took part, by thread. Threads that have returned
// are not waited for.
static std::map<unsigned, uint64_t> meet(Meeting &meeting, const char *what, const std::vector<unsigned> &members,
                                         uint64_t value) {
    unsigned long turn = meeting.turns[running->number]++;
    std::map<unsigned, uint64_t> &values = meeting.values[turn % 2];
    bool is_first = true;
    for (unsigned member : members) {
        is_first = is_first && (member == running->number || meeting.turns[member] <= turn);
    }
    if (is_first) {
        values.clear();
        meeting.what[turn % 2] = what;
    }
    if (std::strcmp(meeting.what[turn % 2], what) != 0) {
        refuse("other threads are at another operation");
    }
    values[running->number] = value;
    has_moved = true;
    for (unsigned member : members) {
        while (meeting.turns[member] <= turn && !fibers[member].finished) {
            swapcontext(&running->context, &scheduler);
        }
    }
    return values;
}

static std::map<unsigned, uint64_t> meet_block(const char *what, uint64_t value = 0) {
    std::vector<unsigned> members;
    for (unsigned i = 0; i < fibers.size(); i++) {
        members.push_back(i);
    }
    return meet(meetings[{~0u, 0}], what, members, value);
}

// The values of a warp by lane, and which lanes took part.
struct Warp {
    unsigned lane, lanes = 0;
    std::array<uint64_t, warp_size> values{};
};

template <class T> uint64_t to_bits(T value) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
}

template <class T> T from_bits(uint64_t bits) {
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

template <class T> Warp meet_warp(const char *what, unsigned mask, T value) {
    unsigned warp = running->number / warp_size, first = warp * warp_size;
    Warp seen{running->number - first};
    if (!(mask >> seen.lane & 1)) {
        refuse("its mask leaves itself out");
    }
    std::vector<unsigned> members;
    for (unsigned lane = 0; lane < warp_size; lane++) {
        if (mask >> lane & 1 && first + lane < fibers.size()) {
            members.push_back(first + lane);
        }
    }
    for (auto [thread, bits] : meet(meetings[{warp, mask}], what, members, to_bits(value))) {
        seen.lanes |= 1u << (thread - first);
        seen.values[thread - first] = bits;
    }
    return seen;
}

// What a shuffle from lane `source` gives. CUDA leaves open what a lane has that takes no part: here a number that shows.
template <class T> T shuffled(const Warp &seen, unsigned source) {
    return from_bits<T>(seen.lanes >> source & 1 ? seen.values[source] : 0xfefefefefefefefeu);
}

// The wire format: unsigned decimal words. In: grid and block sizes; then each argument, an array as its length
// and its elements. Out: the arrays again, one a line, after the launch.

inline uint64_t read_word() {
    unsigned long long word;
    if (std::scanf("%llu", &word) != 1) {
        std::fprintf(stderr, "oracle: the input ends too early\n");
        std::exit(2);
    }
    return word;
}

template <class T> struct Argument {
    T value = static_cast<T>(read_word());
    void print() const {}
    T get() { return value; }
};

template <class T> struct Argument<T *> {
    using Element = std::remove_const_t<T>;
    std::vector<Element> elements;
    Argument() {
        elements.resize(read_word());
        for (Element &element : elements) {
            element = static_cast<Element>(read_word());
        }
    }
    void print() const {
        for (Element element : elements) {
            std::printf("%llu ", static_cast<unsigned long long>(std::make_unsigned_t<Element>(element)));
        }
        std::printf("\n");
    }
    T *get() { return elements.data(); }
};

inline dim3 read_dim3() {
    dim3 size;
    size.x = read_word(), size.y = read_word(), size.z = read_word();
    return size;
}

template <auto kernel> struct Launch;

template <class... P, void (*kernel)(P...)> struct Launch<kernel> {
    static inline std::tuple<Argument<P>...> *arguments;
    static void call() {
        std::apply([](auto &...argument) { kernel(argument.get()...); }, *arguments);
    }
    static int run() {
        gridDim = read_dim3();
        blockDim = read_dim3();
        std::tuple<Argument<P>...> own{Argument<P>()...};  // braces: read from left to right
        arguments = &own;
        run_grid(call);
        std::apply([](auto &...argument) { (argument.print(), ...); }, own);
        return 0;
    }
};

}  // namespace oracle

// Barriers and fences

inline void __syncthreads() { oracle::meet_block("__syncthreads"); }

inline int __syncthreads_count(int predicate) {
    int count = 0;
    for (auto [thread, value] : oracle::meet_block("__syncthreads_count", predicate != 0)) {
        count += value;
    }
    return count;
}

inline int __syncthreads_or(int predicate) { return __syncthreads_count(predicate) != 0; }
inline int __syncthreads_and(int predicate) { return __syncthreads_count(!predicate) == 0; }
inline void __syncwarp(unsigned mask = ~0u) { oracle::meet_warp("__syncwarp", mask, 0); }
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}

// Atomics. Only one fiber runs at a time, so a plain read and write is atomic.

template <class T> T oracle_update(T *address, T value) {
    T old = *address;
    *address = value;
    return old;
}

#define ORACLE_ATOMIC(NAME, T, RESULT)                                                                                 \
    inline T NAME(T *address, T value) {                                                                               \
        T old = *address;                                                                                              \
        return oracle_update(address, static_cast<T>(RESULT));                                                         \
    }
#define ORACLE_ATOMICS(NAME, RESULT) ORACLE_ATOMIC(NAME, int, RESULT) ORACLE_ATOMIC(NAME, unsigned, RESULT)
ORACLE_ATOMICS(atomicAdd, unsigned(old) + unsigned(value))
ORACLE_ATOMICS(atomicSub, unsigned(old) - unsigned(value))
ORACLE_ATOMICS(atomicMin, value < old ? value : old)
ORACLE_ATOMICS(atomicMax, value > old ? value : old)
ORACLE_ATOMICS(atomicAnd, old & value)
ORACLE_ATOMICS(atomicOr, old | value)
ORACLE_ATOMICS(atomicXor, old ^ value)
ORACLE_ATOMICS(atomicExch, value)
ORACLE_ATOMIC(atomicInc, unsigned, old >= value ? 0 : old + 1)
ORACLE_ATOMIC(atomicDec, unsigned, old == 0 || old > value ? value : old - 1)
#undef ORACLE_ATOMICS
#undef ORACLE_ATOMIC

template <class T> T atomicCAS(T *address, std::type_identity_t<T> compare, std::type_identity_t<T> value) {
    return oracle_update(address, *address == compare ? value : *address);
}

// Warps

template <class T> T __shfl_sync(unsigned mask, T value, int lane, int width = 32) {
    oracle::Warp seen = oracle::meet_warp("__shfl_sync", mask, value);
    unsigned first = seen.lane / width * width;
    return oracle::shuffled<T>(seen, first + unsigned(lane) % width);
}

template <class T> T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32) {
    oracle::Warp seen = oracle::meet_warp("__shfl_up_sync", mask, value);
    return oracle::shuffled<T>(seen, seen.lane % width >= by ? seen.lane - by : seen.lane);
}

template <class T> T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32) {
    oracle::Warp seen = oracle::meet_warp("__shfl_down_sync", mask, value);
    return oracle::shuffled<T>(seen, seen.lane % width + by < width ? seen.lane + by : seen.lane);
}

template <class T> T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32) {
    oracle::Warp seen = oracle::meet_warp("__shfl_xor_sync", mask, value);
    unsigned other = seen.lane ^ bits;  // of its own segment, or of one before it
    return oracle::shuffled<T>(seen, other / width <= seen.lane / width ? other : seen.lane);
}

inline unsigned __ballot_sync(unsigned mask, int predicate) {
    oracle::Warp seen = oracle::meet_warp("__ballot_sync", mask, predicate != 0);
    unsigned lanes = 0;
    for (unsigned lane = 0; lane < oracle::warp_size; lane++) {
        lanes |= unsigned(seen.values[lane]) << lane;
    }
    return lanes;
}

inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, !predicate) == 0; }

template <class T> unsigned __match_any_sync(unsigned mask, T value) {
    oracle::Warp seen = oracle::meet_warp("__match_any_sync", mask, value);
    unsigned lanes = 0;
    for (unsigned lane = 0; lane < oracle::warp_size; lane++) {
        bool is_equal = seen.lanes >> lane & 1 && seen.values[lane] == seen.values[seen.lane];
        lanes |= unsigned(is_equal) << lane;
    }
    return lanes;
}

template <class T> unsigned __match_all_sync(unsigned mask, T value, int *is_same) {
    oracle::Warp seen = oracle::meet_warp("__match_all_sync", mask, value);
    *is_same = 1;
    for (unsigned lane = 0; lane < oracle::warp_size; lane++) {
        if (seen.lanes >> lane & 1 && seen.values[lane] != seen.values[seen.lane]) {
            *is_same = 0;
        }
    }
    return *is_same ? seen.lanes : 0;
}

// Here no two threads ever execute together, which CUDA allows.
inline unsigned __activemask() { return 1u << oracle::running->number % oracle::warp_size; }

#define ORACLE_REDUCTION(NAME, T, RESULT)                                                                              \
    inline T NAME(unsigned mask, T own) {                                                                              \
        oracle::Warp seen = oracle::meet_warp(#NAME, mask, own);                                                       \
        T all = own;                                                                                                   \
        for (unsigned lane = 0; lane < oracle::warp_size; lane++) {                                                    \
            if (lane != seen.lane && seen.lanes >> lane & 1) {                                                         \
                T one = oracle::from_bits<T>(seen.values[lane]);                                                       \
                all = static_cast<T>(RESULT);                                                                          \
            }                                                                                                          \
        }                                                                                                              \
        return all;                                                                                                    \
    }
#define ORACLE_REDUCTIONS(NAME, RESULT) ORACLE_REDUCTION(NAME, int, RESULT) ORACLE_REDUCTION(NAME, unsigned, RESULT)
ORACLE_REDUCTIONS(__reduce_add_sync, unsigned(all) + unsigned(one))
ORACLE_REDUCTIONS(__reduce_min_sync, one < all ? one : all)
ORACLE_REDUCTIONS(__reduce_max_sync, one > all ? one : all)
ORACLE_REDUCTION(__reduce_and_sync, unsigned, all & one)
ORACLE_REDUCTION(__reduce_or_sync, unsigned, all | one)
ORACLE_REDUCTION(__reduce_xor_sync, unsigned, all ^ one)
#undef ORACLE_REDUCTIONS
#undef ORACLE_REDUCTION

// Arithmetic, written for plainness

inline int __popc(unsigned x) {
    int count = 0;
    for (; x != 0; x >>= 1) {
        count += x & 1;
    }
    return count;
}

inline int __clz(unsigned x) {
    int count = 0;
    for (unsigned bit = 1u << 31; bit != 0 && !(x & bit); bit >>= 1) {
        count++;
    }
    return count;
}

inline int __ffs(unsigned x) { return x == 0 ? 0 : 32 - __clz(x & -x); }

inline unsigned __brev(unsigned x) {
    unsigned reversed = 0;
    for (int bit = 0; bit < 32; bit++) {
        reversed |= (x >> bit & 1) << (31 - bit);
    }
    return reversed;
}

inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
    uint64_t pair = uint64_t(high) << 32 | low;
    unsigned result = 0;
    for (int place = 0; place < 4; place++) {
        unsigned chosen = selector >> 4 * place & 7;
        result |= unsigned(pair >> 8 * chosen & 255) << 8 * place;
    }
    return result;
}

inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned count) {
    return count >= 32 ? low : (uint64_t(high) << 32 | low) << count >> 32;
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned count) {
    return count >= 32 ? high : (uint64_t(high) << 32 | low) >> count;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned count) {
    return __funnelshift_lc(low, high, count & 31);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned count) {
    return __funnelshift_rc(low, high, count & 31);
}

inline int __mulhi(int a, int b) { return int64_t(a) * b >> 32; }
inline unsigned __umulhi(unsigned a, unsigned b) { return uint64_t(a) * b >> 32; }
inline unsigned __sad(int a, int b, unsigned c) { return c + unsigned(std::abs(int64_t(a) - b)); }
inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return c + unsigned(std::abs(int64_t(a) - int64_t(b))); }
inline int __hadd(int a, int b) { return (int64_t(a) + b) >> 1; }
inline int min(int a, int b) { return b < a ? b : a; }
inline unsigned min(unsigned a, unsigned b) { return b < a ? b : a; }
inline int max(int a, int b) { return a < b ? b : a; }
inline unsigned max(unsigned a, unsigned b) { return a < b ? b : a; }

// Vectors

struct alignas(8) int2 {
    int x, y;
};
struct alignas(16) int4 {
    int x, y, z, w;
};
inline int2 make_int2(int x, int y) { return {x, y}; }
inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
