// x >> y, rounded down; status 3: y is negative.
extern "C" __global__ void shift_right_kernel(const int *a, const int *b, int *out, int *status, int step_a, int step_b) {
    int i = threadIdx.x;
    int x = a[i * step_a], y = b[i * step_b];
    if (y < 0) *status = 3;
    out[i] = x >> (y > 31 ? 31 : y);
}
