// The words of all threads in ascending order: each thread counts the words that stand before its own.
extern "C" __global__ void sort_kernel(const int *a, int *out, int *status) {
    int i = threadIdx.x, n = blockDim.x, x = a[i], place = 0;
#pragma unroll 1
    for (int k = 0; k < n; ++k) place += a[k] < x || (a[k] == x && k < i);
    out[place] = x;
}
