// x << y; status 3: y is negative, status 1: bits are lost.
extern "C" __global__ void shift_left_kernel(const int *a, const int *b, int *out, int *status, int step_a, int step_b) {
    int i = threadIdx.x;
    int x = a[i * step_a], y = b[i * step_b];
    if (y < 0) {
        *status = 3;
    } else {
        int shifted = y < 32 ? (int)((unsigned)x << y) : 0;
        if (y < 32 ? shifted >> y != x : x != 0) *status = 1;
        out[i] = shifted;
    }
}
