// The words of all threads backwards.
extern "C" __global__ void reverse_kernel(const int *a, int *out, int *status) {
    out[blockDim.x - 1 - threadIdx.x] = a[threadIdx.x];
}
