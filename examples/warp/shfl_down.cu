// Sum of n words by a block of up to 1024 threads: a tree of shuffles in each warp, then one over the sums of the warps.
__device__ __forceinline__ int warp_sum(int own, int lane, int lanes) {
    for (int half = 16; half > 0; half /= 2) {
        int above = __shfl_down_sync(0xffffffff, own, half);
        if (lane + half < lanes) {
            own += above;
        }
    }
    return own;
}

extern "C" __global__ void shfl_down(const int *in, int n, int *sum) {
    __shared__ int sums[32];
    int i = threadIdx.x, lane = i & 31, size = blockDim.x;
    int own = warp_sum(i < n ? in[i] : 0, lane, size - (i - lane));
    if (lane == 0) {
        sums[i >> 5] = own;
    }
    __syncthreads();
    if (i < 32) {
        int warps = (size + 31) >> 5;
        own = warp_sum(lane < warps ? sums[lane] : 0, lane, warps);
        if (i == 0) {
            *sum = own;
        }
    }
}
