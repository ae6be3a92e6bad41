// x + y; status 1: the sum does not fit 32 bits.
extern "C" __global__ void add_kernel(const int *a, const int *b, int *out, int *status, int step_a, int step_b) {
    int i = threadIdx.x;
    int x = a[i * step_a], y = b[i * step_b];
    int sum = (int)((unsigned)x + (unsigned)y);
    if (((x ^ sum) & (y ^ sum)) < 0) *status = 1;
    out[i] = sum;
}
