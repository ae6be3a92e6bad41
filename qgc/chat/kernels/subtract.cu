// x - y; status 1: the difference does not fit 32 bits.
extern "C" __global__ void subtract_kernel(const int *a, const int *b, int *out, int *status, int step_a, int step_b) {
    int i = threadIdx.x;
    int x = a[i * step_a], y = b[i * step_b];
    int difference = (int)((unsigned)x - (unsigned)y);
    if (((x ^ y) & (x ^ difference)) < 0) *status = 1;
    out[i] = difference;
}
