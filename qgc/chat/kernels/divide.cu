// x // y, rounded down; status 2: y is 0, status 1: -2^31 // -1 does not fit 32 bits.
extern "C" __global__ void divide_kernel(const int *a, const int *b, int *out, int *status, int step_a, int step_b) {
    int i = threadIdx.x;
    int x = a[i * step_a], y = b[i * step_b];
    if (y == 0) {
        *status = 2;
    } else if (y == -1) {
        out[i] = (int)(0u - (unsigned)x);
        if (x != 0 && out[i] == x) *status = 1;
    } else {
        int quotient = x / y, rest = x - quotient * y;
        out[i] = rest != 0 && (rest ^ y) < 0 ? quotient - 1 : quotient;
    }
}
