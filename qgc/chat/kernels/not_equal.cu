// 1 where x != y, else 0.
extern "C" __global__ void not_equal_kernel(const int *a, const int *b, int *out, int *status, int step_a, int step_b) {
    int i = threadIdx.x;
    int x = a[i * step_a], y = b[i * step_b];
    out[i] = x != y;
}
