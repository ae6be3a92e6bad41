// Inclusive prefix sums of n words (Hillis and Steele): log n rounds between two buffers in dynamic shared memory, which
// holds 2 * blockDim.x words.
extern __shared__ int buffers[];

extern "C" __global__ void scan(const int *in, int n, int *out) {
    int i = threadIdx.x, size = blockDim.x;
    int from = 0;
    buffers[i] = i < n ? in[i] : 0;
    __syncthreads();
    for (int step = 1; step < size; step *= 2) {
        int value = buffers[from + i];
        if (i >= step) {
            value += buffers[from + i - step];
        }
        from = size - from;
        buffers[from + i] = value;
        __syncthreads();
    }
    if (i < n) {
        out[i] = buffers[from + i];
    }
}
