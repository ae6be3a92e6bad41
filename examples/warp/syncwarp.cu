// Prefix sums of one warp through shared memory, in place: all lanes read before any writes.
extern "C" __global__ void syncwarp(const int *in, int *out) {
    __shared__ int sums[32];
    int i = threadIdx.x;
    sums[i] = in[i];
    __syncwarp();
    for (int step = 1; step < blockDim.x; step *= 2) {
        int below = i >= step ? sums[i - step] : 0;
        __syncwarp();
        sums[i] += below;
        __syncwarp();
    }
    out[i] = sums[i];
}
