// x % y, with the sign of y; status 2: y is 0.
extern "C" __global__ void remainder_kernel(const int *a, const int *b, int *out, int *status, int step_a, int step_b) {
    int i = threadIdx.x;
    int x = a[i * step_a], y = b[i * step_b];
    if (y == 0) {
        *status = 2;
    } else if (y == -1) {
        out[i] = 0;
    } else {
        int rest = x % y;
        out[i] = rest != 0 && (rest ^ y) < 0 ? rest + y : rest;
    }
}
