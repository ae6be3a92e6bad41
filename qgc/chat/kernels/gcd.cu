// Greatest common divisor of |x| and |y| by halving and subtracting; status 1: it is 2^31.
extern "C" __global__ void gcd_kernel(const int *a, const int *b, int *out, int *status, int step_a, int step_b) {
    int i = threadIdx.x, p = a[i * step_a], q = b[i * step_b];
    unsigned x = p < 0 ? 0u - (unsigned)p : (unsigned)p, y = q < 0 ? 0u - (unsigned)q : (unsigned)q, found = x | y;
    if (x != 0 && y != 0) {
        unsigned twos = 0;
        for (; !((x | y) & 1); ++twos) x >>= 1, y >>= 1;
        while (!(x & 1)) x >>= 1;
        while (y != 0) {
            while (!(y & 1)) y >>= 1;
            unsigned less = x < y ? x : y;
            y = x < y ? y - x : x - y;
            x = less;
        }
        found = x << twos;
    }
    if (found >> 31) *status = 1;
    out[i] = (int)found;
}
