// A matrix with rows and columns exchanged; thread (x, y) moves the element in row y, column x.
extern "C" __global__ void transpose_kernel(const int *a, int *out, int *status) {
    out[threadIdx.x * blockDim.y + threadIdx.y] = a[threadIdx.y * blockDim.x + threadIdx.x];
}
