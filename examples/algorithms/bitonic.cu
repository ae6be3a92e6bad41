// Bitonic sort of up to blockDim.x = 2^k <= 32 words in shared memory; what is missing is sorted as the largest number.
extern "C" __global__ void bitonic(int *a, int n) {
    __shared__ int sorted[32];
    int i = threadIdx.x;
    sorted[i] = i < n ? a[i] : 0x7fffffff;
    for (int run = 2; run <= blockDim.x; run *= 2) {
        for (int apart = run / 2; apart > 0; apart /= 2) {
            __syncthreads();
            int other = i ^ apart;
            int mine = sorted[i], its = sorted[other];
            if (i < other && (mine > its) == ((i & run) == 0)) {
                sorted[i] = its;
                sorted[other] = mine;
            }
        }
    }
    __syncthreads();
    if (i < n) {
        a[i] = sorted[i];
    }
}
