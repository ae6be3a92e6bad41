// One use of everything that the CUDA header for clang declares. It is compiled, never run.
#ifdef __CUDACC_RTC__  // has no standard headers
#define INT_MAX 2147483647
#else
#include <cuda_runtime.h>
#include <cstdint>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#endif

__constant__ int table[4] = {1, 2, 3, INT_MAX};
extern __shared__ int dynamic[];

__device__ __noinline__ unsigned helper(const unsigned *a, uint3 index) { return a[index.x] + index.y; }

__global__ void __launch_bounds__(64) indices(int *p, int n) {
    dim3 size = blockDim;
    uint3 index = threadIdx;
    int4 quad = make_int4(n, 2, 3, int(size.x));
    *reinterpret_cast<int4 *>(p) = quad;
    uchar4 bytes = make_uchar4(1, 2, 3, (unsigned char)n);
    p[4] = bytes.w + index.z + blockIdx.y + gridDim.x + warpSize + table[n & 3];
    dynamic[threadIdx.x] = n;
    __syncthreads();
    p[5] = dynamic[31 - threadIdx.x] + helper(reinterpret_cast<unsigned *>(p), index);
}

__global__ void atomics(int *p, unsigned *u, unsigned long long *l, float *f, int n) {
    p[0] = atomicAdd(p, 1) + atomicSub(p, n) + atomicExch(p, 3) + atomicMin(p, 4) + atomicMax(p, 5);
    p[1] = atomicAnd(p, 6) + atomicOr(p, 7) + atomicXor(p, 8) + atomicCAS(p, 1, 2);
    u[0] = atomicAdd(u, 1u) + atomicAdd_block(u, 2u) + atomicSub(u, 3u) + atomicMin(u, 4u) + atomicMax(u, 5u);
    u[1] = atomicInc(u, 6u) + atomicDec(u, 7u) + atomicCAS(u, 1u, 2u) + atomicExch(u, 2u) + atomicXor(u, 1u);
    l[0] = atomicAdd(l, 1ull) + atomicMin(l, 3ull) + atomicCAS(l, 1ull, 2ull) + atomicExch(l, 3ull);
    l[1] = atomicAnd(l, 3ull) + atomicOr(l, 3ull) + atomicXor(l, 3ull) + atomicMax(l, 3ull);
    f[0] = atomicAdd(f, 1.0f) + atomicExch(f, 2.0f);
}

__global__ void warps(int *p, unsigned long long *l, float *f, int n) {
    unsigned all = 0xffffffffu;
    p[0] = __shfl_up_sync(all, n, 1) + __shfl_down_sync(all, n, 2, 16) + __shfl_xor_sync(all, n, 4);
    p[1] = __all_sync(all, n) + __any_sync(all, n) + __ballot_sync(all, n) + __match_any_sync(all, n);
    p[2] = __activemask() + __syncthreads_count(n) + __syncthreads_and(n) + __syncthreads_or(n);
    p[3] = __match_all_sync(all, n, &p[4]) + __reduce_add_sync(all, n) + __reduce_min_sync(all, n);
    p[5] = __reduce_max_sync(all, n) + __reduce_add_sync(all, unsigned(n)) + __reduce_min_sync(all, unsigned(n));
    p[6] = __reduce_max_sync(all, unsigned(n)) + __reduce_and_sync(all, n) + __reduce_or_sync(all, n);
    p[7] = __reduce_xor_sync(all, n);
    l[0] = __shfl_sync(all, l[1], 3);
    f[0] = __shfl_sync(all, f[1], 3);
    __syncwarp();
    __threadfence_block();
    __threadfence();
    __threadfence_system();
}

__global__ void bits(int *p, unsigned long long *l, int n, unsigned q) {
    p[0] = __popc(n) + __clz(n) + __ffs(n) + __brev(n) + __byte_perm(n, q, 0x3210);
    p[1] = __funnelshift_l(n, q, n) + __funnelshift_r(n, q, n) + __funnelshift_lc(n, q, n) + __funnelshift_rc(n, q, n);
    p[2] = __popcll(l[0]) + __clzll(l[0]) + __ffsll(l[0]);
    l[1] = __brevll(l[0]) + __umul64hi(l[2], l[3]) + __mul64hi(l[2], l[3]);
    p[3] = __mulhi(n, q) + __umulhi(n, q) + __mul24(n, q) + __umul24(n, q);
    p[4] = __sad(n, q, 1) + __usad(n, q, 2) + __hadd(n, q) + min(n, 3) + max(3u, q) + abs(n) + __ldg(p + 7);
    p[5] = __float_as_int(__int_as_float(n)) + __float_as_uint(__uint_as_float(q));
}
