// Histogram of n words by their low 3 bits: each block counts in shared memory, then adds its counts to the others'.
extern "C" __global__ void histogram(const unsigned *in, int n, unsigned *bins) {
    __shared__ unsigned counts[8];
    int i = threadIdx.x;
    if (i < 8) {
        counts[i] = 0;
    }
    __syncthreads();
    int at = blockIdx.x * blockDim.x + i;
    if (at < n) {
        atomicAdd(&counts[in[at] & 7], 1u);
    }
    __syncthreads();
    if (i < 8 && counts[i] != 0) {
        atomicAdd(&bins[i], counts[i]);
    }
}
