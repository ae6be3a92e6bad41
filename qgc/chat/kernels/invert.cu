// ~x.
extern "C" __global__ void invert_kernel(const int *a, int *out, int *status) {
    int i = threadIdx.x;
    int x = a[i];
    out[i] = ~x;
}
