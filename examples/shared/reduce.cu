// Sum of n words by a block of 2^k <= 32 threads: each adds up its own share, then a tree in shared memory.
extern "C" __global__ void reduce(const int *in, int n, int *sum) {
    __shared__ int partial[32];
    int i = threadIdx.x;
    int own = 0;
    for (int k = i; k < n; k += blockDim.x) {
        own += in[k];
    }
    partial[i] = own;
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (i < half) {
            partial[i] += partial[i + half];
        }
    }
    if (i == 0) {
        *sum = partial[0];
    }
}
