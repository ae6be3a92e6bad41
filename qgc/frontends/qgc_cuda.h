/* The device side of CUDA C++ for clang's NVPTX target, without a CUDA toolkit.
 *
 * The compiler is run with -nocudainc -nocudalib and this file included first. It declares what a kernel may use:
 * qualifiers, thread indices, vector types, barriers, atomics, warp and bit intrinsics. Host code, launches with
 * <<<>>> and the math library are not here.
 */
#pragma once

/* Qualifiers */

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __noinline__ __attribute__((noinline))
#define __forceinline__ inline __attribute__((always_inline))
#define __restrict__ __restrict
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))

#define QGC_DEVICE static __device__ __forceinline__

/* Integer types */

#include <stdint.h>

/* Vector types: T1 .. T4 with the alignment that vector loads need, and make_T1 .. make_T4 */

#define QGC_VECTORS(NAME, T)                                                                                           \
    struct __align__(sizeof(T)) NAME##1 { T x; };                                                                      \
    struct __align__(2 * sizeof(T)) NAME##2 { T x, y; };                                                               \
    struct NAME##3 { T x, y, z; };                                                                                     \
    struct __align__(4 * sizeof(T) > 16 ? 16 : 4 * sizeof(T)) NAME##4 { T x, y, z, w; };                               \
    QGC_DEVICE NAME##1 make_##NAME##1(T x) { return {x}; }                                                             \
    QGC_DEVICE NAME##2 make_##NAME##2(T x, T y) { return {x, y}; }                                                     \
    QGC_DEVICE NAME##3 make_##NAME##3(T x, T y, T z) { return {x, y, z}; }                                             \
    QGC_DEVICE NAME##4 make_##NAME##4(T x, T y, T z, T w) { return {x, y, z, w}; }

QGC_VECTORS(char, signed char)
QGC_VECTORS(uchar, unsigned char)
QGC_VECTORS(short, short)
QGC_VECTORS(ushort, unsigned short)
QGC_VECTORS(int, int)
QGC_VECTORS(uint, unsigned)
QGC_VECTORS(long, long)
QGC_VECTORS(ulong, unsigned long)
QGC_VECTORS(longlong, long long)
QGC_VECTORS(ulonglong, unsigned long long)
QGC_VECTORS(float, float)
QGC_VECTORS(double, double)
#undef QGC_VECTORS

struct dim3 {
    unsigned x, y, z;
    __host__ __device__ constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    __host__ __device__ constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    __host__ __device__ constexpr operator uint3() const { return {x, y, z}; }
};

/* Thread indices: objects whose members read special registers */

#define QGC_READ(REGISTER, AXIS)                                                                                       \
    __declspec(property(get = get_##AXIS)) unsigned AXIS;                                                              \
    static inline __attribute__((always_inline, device)) unsigned get_##AXIS() {                                       \
        return __nvvm_read_ptx_sreg_##REGISTER##_##AXIS();                                                             \
    }
#define QGC_INDEX(NAME, REGISTER)                                                                                      \
    struct qgc_##REGISTER {                                                                                            \
        QGC_READ(REGISTER, x)                                                                                          \
        QGC_READ(REGISTER, y)                                                                                          \
        QGC_READ(REGISTER, z)                                                                                          \
        __device__ operator uint3() const { return {get_x(), get_y(), get_z()}; }                                      \
        __device__ operator dim3() const { return {get_x(), get_y(), get_z()}; }                                       \
    };                                                                                                                 \
    extern const __attribute__((device, weak)) qgc_##REGISTER NAME;

QGC_INDEX(threadIdx, tid)
QGC_INDEX(blockIdx, ctaid)
QGC_INDEX(blockDim, ntid)
QGC_INDEX(gridDim, nctaid)
#undef QGC_INDEX
#undef QGC_READ

__device__ const int warpSize = 32;

/* Barriers and fences. __syncthreads() is a builtin of the compiler. */

QGC_DEVICE int __syncthreads_count(int p) { return __nvvm_bar0_popc(p); }
QGC_DEVICE int __syncthreads_and(int p) { return __nvvm_bar0_and(p); }
QGC_DEVICE int __syncthreads_or(int p) { return __nvvm_bar0_or(p); }
QGC_DEVICE void __syncwarp(unsigned mask = 0xffffffffu) { __nvvm_bar_warp_sync(mask); }
QGC_DEVICE void __threadfence_block() { __nvvm_membar_cta(); }
QGC_DEVICE void __threadfence() { __nvvm_membar_gl(); }
QGC_DEVICE void __threadfence_system() { __nvvm_membar_sys(); }

/* Atomics. The builtins know signed integers only, so each overload says which one carries its bits. */

#define QGC_ATOMIC(NAME, T, BITS, BUILTIN)                                                                             \
    QGC_DEVICE T NAME(T *address, T value) {                                                                           \
        return static_cast<T>(BUILTIN(reinterpret_cast<BITS *>(address), static_cast<BITS>(value)));                   \
    }                                                                                                                  \
    QGC_DEVICE T NAME##_block(T *address, T value) { return NAME(address, value); }                                    \
    QGC_DEVICE T NAME##_system(T *address, T value) { return NAME(address, value); }
#define QGC_ATOMIC_32(NAME, BUILTIN) QGC_ATOMIC(NAME, int, int, BUILTIN) QGC_ATOMIC(NAME, unsigned, int, BUILTIN)
#define QGC_ATOMIC_64(NAME, BUILTIN) QGC_ATOMIC(NAME, unsigned long long, long long, BUILTIN)

QGC_ATOMIC_32(atomicAdd, __nvvm_atom_add_gen_i)
QGC_ATOMIC_64(atomicAdd, __nvvm_atom_add_gen_ll)
QGC_ATOMIC(atomicAdd, float, float, __nvvm_atom_add_gen_f)
QGC_ATOMIC_32(atomicExch, __nvvm_atom_xchg_gen_i)
QGC_ATOMIC_64(atomicExch, __nvvm_atom_xchg_gen_ll)
QGC_ATOMIC_32(atomicAnd, __nvvm_atom_and_gen_i)
QGC_ATOMIC_64(atomicAnd, __nvvm_atom_and_gen_ll)
QGC_ATOMIC_32(atomicOr, __nvvm_atom_or_gen_i)
QGC_ATOMIC_64(atomicOr, __nvvm_atom_or_gen_ll)
QGC_ATOMIC_32(atomicXor, __nvvm_atom_xor_gen_i)
QGC_ATOMIC_64(atomicXor, __nvvm_atom_xor_gen_ll)
QGC_ATOMIC(atomicMin, int, int, __nvvm_atom_min_gen_i)
QGC_ATOMIC(atomicMin, unsigned, unsigned, __nvvm_atom_min_gen_ui)
QGC_ATOMIC(atomicMin, long long, long long, __nvvm_atom_min_gen_ll)
QGC_ATOMIC(atomicMin, unsigned long long, unsigned long long, __nvvm_atom_min_gen_ull)
QGC_ATOMIC(atomicMax, int, int, __nvvm_atom_max_gen_i)
QGC_ATOMIC(atomicMax, unsigned, unsigned, __nvvm_atom_max_gen_ui)
QGC_ATOMIC(atomicMax, long long, long long, __nvvm_atom_max_gen_ll)
QGC_ATOMIC(atomicMax, unsigned long long, unsigned long long, __nvvm_atom_max_gen_ull)
QGC_ATOMIC(atomicInc, unsigned, unsigned, __nvvm_atom_inc_gen_ui)
QGC_ATOMIC(atomicDec, unsigned, unsigned, __nvvm_atom_dec_gen_ui)
#undef QGC_ATOMIC_64
#undef QGC_ATOMIC_32
#undef QGC_ATOMIC

QGC_DEVICE int atomicSub(int *address, int value) { return atomicAdd(address, static_cast<int>(0u - value)); }
QGC_DEVICE unsigned atomicSub(unsigned *address, unsigned value) { return atomicAdd(address, 0u - value); }
QGC_DEVICE float atomicExch(float *address, float value) {
    return __builtin_bit_cast(float, atomicExch(reinterpret_cast<int *>(address), __builtin_bit_cast(int, value)));
}

#define QGC_CAS(T, BITS, BUILTIN)                                                                                      \
    QGC_DEVICE T atomicCAS(T *address, T compare, T value) {                                                           \
        return static_cast<T>(BUILTIN(reinterpret_cast<BITS *>(address), static_cast<BITS>(compare),                   \
                                      static_cast<BITS>(value)));                                                      \
    }
QGC_CAS(int, int, __nvvm_atom_cas_gen_i)
QGC_CAS(unsigned, int, __nvvm_atom_cas_gen_i)
QGC_CAS(unsigned long long, long long, __nvvm_atom_cas_gen_ll)
#undef QGC_CAS

/* Warp shuffles. The last operand packs the segment mask and the clamp lane (PTX ISA, shfl.sync). */

#define QGC_SHUFFLE(NAME, LANE, BUILTIN, CLAMP)                                                                        \
    QGC_DEVICE int NAME(unsigned mask, int value, LANE lane, int width = 32) {                                         \
        return BUILTIN(mask, value, lane, (32 - width) << 8 | CLAMP);                                                  \
    }                                                                                                                  \
    QGC_DEVICE unsigned NAME(unsigned mask, unsigned value, LANE lane, int width = 32) {                               \
        return NAME(mask, static_cast<int>(value), lane, width);                                                       \
    }                                                                                                                  \
    QGC_DEVICE float NAME(unsigned mask, float value, LANE lane, int width = 32) {                                     \
        return __builtin_bit_cast(float, NAME(mask, __builtin_bit_cast(int, value), lane, width));                     \
    }                                                                                                                  \
    QGC_DEVICE long long NAME(unsigned mask, long long value, LANE lane, int width = 32) {                             \
        unsigned low = NAME(mask, static_cast<unsigned>(value), lane, width);                                          \
        int high = NAME(mask, static_cast<int>(value >> 32), lane, width);                                             \
        return static_cast<long long>(high) << 32 | low;                                                               \
    }                                                                                                                  \
    QGC_DEVICE unsigned long long NAME(unsigned mask, unsigned long long value, LANE lane, int width = 32) {           \
        return NAME(mask, static_cast<long long>(value), lane, width);                                                 \
    }                                                                                                                  \
    QGC_DEVICE double NAME(unsigned mask, double value, LANE lane, int width = 32) {                                   \
        return __builtin_bit_cast(double, NAME(mask, __builtin_bit_cast(long long, value), lane, width));              \
    }
QGC_SHUFFLE(__shfl_sync, int, __nvvm_shfl_sync_idx_i32, 31)
QGC_SHUFFLE(__shfl_up_sync, unsigned, __nvvm_shfl_sync_up_i32, 0)
QGC_SHUFFLE(__shfl_down_sync, unsigned, __nvvm_shfl_sync_down_i32, 31)
QGC_SHUFFLE(__shfl_xor_sync, int, __nvvm_shfl_sync_bfly_i32, 31)
#undef QGC_SHUFFLE

/* Votes */

QGC_DEVICE int __all_sync(unsigned mask, int p) { return __nvvm_vote_all_sync(mask, p); }
QGC_DEVICE int __any_sync(unsigned mask, int p) { return __nvvm_vote_any_sync(mask, p); }
QGC_DEVICE unsigned __ballot_sync(unsigned mask, int p) { return __nvvm_vote_ballot_sync(mask, p); }
QGC_DEVICE unsigned __match_any_sync(unsigned mask, unsigned value) { return __nvvm_match_any_sync_i32(mask, value); }
QGC_DEVICE unsigned __match_all_sync(unsigned mask, unsigned value, int *is_same) {
    return __nvvm_match_all_sync_i32p(mask, value, is_same);
}
QGC_DEVICE unsigned __activemask() {
    unsigned mask;
    asm volatile("activemask.b32 %0;" : "=r"(mask));
    return mask;
}

/* Reductions over a warp */

#define QGC_REDUCE(NAME, T, BUILTIN)                                                                                   \
    QGC_DEVICE T NAME(unsigned mask, T value) { return static_cast<T>(BUILTIN(static_cast<int>(value), mask)); }
QGC_REDUCE(__reduce_add_sync, int, __nvvm_redux_sync_add)
QGC_REDUCE(__reduce_add_sync, unsigned, __nvvm_redux_sync_add)
QGC_REDUCE(__reduce_min_sync, int, __nvvm_redux_sync_min)
QGC_REDUCE(__reduce_min_sync, unsigned, __nvvm_redux_sync_umin)
QGC_REDUCE(__reduce_max_sync, int, __nvvm_redux_sync_max)
QGC_REDUCE(__reduce_max_sync, unsigned, __nvvm_redux_sync_umax)
QGC_REDUCE(__reduce_and_sync, unsigned, __nvvm_redux_sync_and)
QGC_REDUCE(__reduce_or_sync, unsigned, __nvvm_redux_sync_or)
QGC_REDUCE(__reduce_xor_sync, unsigned, __nvvm_redux_sync_xor)
#undef QGC_REDUCE

/* Bits */

QGC_DEVICE int __popc(unsigned v) { return __builtin_popcount(v); }
QGC_DEVICE int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
QGC_DEVICE int __clz(int v) { return v ? __builtin_clz(v) : 32; }
QGC_DEVICE int __clzll(long long v) { return v ? __builtin_clzll(v) : 64; }
QGC_DEVICE int __ffs(int v) { return __builtin_ffs(v); }
QGC_DEVICE int __ffsll(long long v) { return __builtin_ffsll(v); }
QGC_DEVICE unsigned __brev(unsigned v) { return __builtin_bitreverse32(v); }
QGC_DEVICE unsigned long long __brevll(unsigned long long v) { return __builtin_bitreverse64(v); }
QGC_DEVICE unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
    return __nvvm_prmt(a, b, selector & 0x7777); /* bit 3 of a nibble, a sign in PTX, is ignored in CUDA */
}

#define QGC_FUNNEL(NAME, INSTRUCTION)                                                                                  \
    QGC_DEVICE unsigned NAME(unsigned low, unsigned high, unsigned shift) {                                            \
        unsigned result;                                                                                               \
        asm(INSTRUCTION " %0, %1, %2, %3;" : "=r"(result) : "r"(low), "r"(high), "r"(shift));                          \
        return result;                                                                                                 \
    }
QGC_FUNNEL(__funnelshift_l, "shf.l.wrap.b32")
QGC_FUNNEL(__funnelshift_r, "shf.r.wrap.b32")
QGC_FUNNEL(__funnelshift_lc, "shf.l.clamp.b32")
QGC_FUNNEL(__funnelshift_rc, "shf.r.clamp.b32")
#undef QGC_FUNNEL

/* Arithmetic */

QGC_DEVICE int __mulhi(int a, int b) { return __nvvm_mulhi_i(a, b); }
QGC_DEVICE unsigned __umulhi(unsigned a, unsigned b) { return __nvvm_mulhi_ui(a, b); }
QGC_DEVICE long long __mul64hi(long long a, long long b) { return __nvvm_mulhi_ll(a, b); }
QGC_DEVICE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) { return __nvvm_mulhi_ull(a, b); }
QGC_DEVICE int __mul24(int a, int b) { return __nvvm_mul24_i(a, b); }
QGC_DEVICE unsigned __umul24(unsigned a, unsigned b) { return __nvvm_mul24_ui(a, b); }
QGC_DEVICE unsigned __sad(int a, int b, unsigned c) { return c + (a < b ? unsigned(b) - a : unsigned(a) - b); }
QGC_DEVICE unsigned __usad(unsigned a, unsigned b, unsigned c) { return c + (a < b ? b - a : a - b); }
QGC_DEVICE int __hadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b) >> 1); }

#define QGC_ORDER(T)                                                                                                   \
    QGC_DEVICE constexpr T min(T a, T b) { return b < a ? b : a; }                                                     \
    QGC_DEVICE constexpr T max(T a, T b) { return a < b ? b : a; }
QGC_ORDER(int)
QGC_ORDER(unsigned)
QGC_ORDER(long)
QGC_ORDER(unsigned long)
QGC_ORDER(long long)
QGC_ORDER(unsigned long long)
#undef QGC_ORDER
QGC_DEVICE unsigned min(int a, unsigned b) { return min(static_cast<unsigned>(a), b); }
QGC_DEVICE unsigned min(unsigned a, int b) { return min(a, static_cast<unsigned>(b)); }
QGC_DEVICE unsigned max(int a, unsigned b) { return max(static_cast<unsigned>(a), b); }
QGC_DEVICE unsigned max(unsigned a, int b) { return max(a, static_cast<unsigned>(b)); }
QGC_DEVICE float min(float a, float b) { return __builtin_fminf(a, b); }
QGC_DEVICE float max(float a, float b) { return __builtin_fmaxf(a, b); }
QGC_DEVICE constexpr int abs(int a) { return a < 0 ? -a : a; }
QGC_DEVICE constexpr long long llabs(long long a) { return a < 0 ? -a : a; }
QGC_DEVICE int __float_as_int(float v) { return __builtin_bit_cast(int, v); }
QGC_DEVICE unsigned __float_as_uint(float v) { return __builtin_bit_cast(unsigned, v); }
QGC_DEVICE float __int_as_float(int v) { return __builtin_bit_cast(float, v); }
QGC_DEVICE float __uint_as_float(unsigned v) { return __builtin_bit_cast(float, v); }

/* Loads through the read-only cache are plain loads to this machine. */
template <class T> QGC_DEVICE T __ldg(const T *address) { return *address; }
