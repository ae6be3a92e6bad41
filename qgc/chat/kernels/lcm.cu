// Least common multiple of |x| and |y|, 0 when one of them is 0; status 1: it does not fit 32 bits.
extern "C" __global__ void lcm_kernel(const int *a, const int *b, int *out, int *status, int step_a, int step_b) {
    int i = threadIdx.x, p = a[i * step_a], q = b[i * step_b];
    unsigned x = p < 0 ? 0u - (unsigned)p : (unsigned)p, y = q < 0 ? 0u - (unsigned)q : (unsigned)q, found = 0;
    if (x != 0 && y != 0) {
        unsigned u = x, v = y;
        while (v != 0) {
            unsigned rest = u % v;
            u = v;
            v = rest;
        }
        x /= u;
        found = x * y;
        if (__umulhi(x, y) != 0 || found >> 31) *status = 1;
    }
    out[i] = (int)found;
}
