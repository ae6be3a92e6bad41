// CUDA on the host, for the oracle: each thread of a block is a fiber with its own stack, one runs at a time, and
// __syncthreads() hands over to the next. Nothing here is shared with qgc.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <tuple>
#include <ucontext.h>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __shared__ static  // one block is resident at a time, so a static is the block's own
#define __constant__ static
#define __forceinline__ inline
#define __launch_bounds__(...)

struct dim3 {
    unsigned x = 1, y = 1, z = 1;
};

static dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace oracle {

struct Fiber {
    ucontext_t context;
    std::vector<char> stack;
    dim3 index;
    bool finished = false, waiting = false;
};

static ucontext_t scheduler;
static Fiber *running;
static void (*body)();

static void enter() {
    body();
    running->finished = true;
    swapcontext(&running->context, &scheduler);
}

// Runs every thread of the current block to its end. A round lets each thread go on to its next barrier; threads
// that have returned do not hold a barrier up.
static void run_block() {
    std::vector<Fiber> fibers(blockDim.x * blockDim.y * blockDim.z);
    for (size_t i = 0; i < fibers.size(); i++) {
        Fiber &fiber = fibers[i];
        fiber.stack.resize(1 << 16);
        fiber.index.x = i % blockDim.x;
        fiber.index.y = i / blockDim.x % blockDim.y;
        fiber.index.z = i / blockDim.x / blockDim.y;
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.data();
        fiber.context.uc_stack.ss_size = fiber.stack.size();
        fiber.context.uc_link = nullptr;
        makecontext(&fiber.context, enter, 0);
    }
    for (bool alive = true; alive;) {
        alive = false;
        for (Fiber &fiber : fibers) {
            if (fiber.finished) {
                continue;
            }
            running = &fiber;
            threadIdx = fiber.index;
            swapcontext(&scheduler, &fiber.context);
            alive = alive || !fiber.finished;
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

inline void __syncthreads() {
    dim3 index = threadIdx;
    swapcontext(&oracle::running->context, &oracle::scheduler);
    threadIdx = index;
}

// Only one fiber runs at a time, so a plain read and write is atomic.
template <class T, class V> T oracle_update(T *address, V value) {
    T old = *address;
    *address = static_cast<T>(value);
    return old;
}
inline int atomicAdd(int *address, int value) {
    return oracle_update(address, unsigned(*address) + unsigned(value));
}
inline unsigned atomicAdd(unsigned *address, unsigned value) { return oracle_update(address, *address + value); }
