// y = a x + y on n words by a grid of any size: each thread goes on by the number of all threads.
extern "C" __global__ void grid_stride(int a, const int *x, int *y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        y[i] += a * x[i];
    }
}
