// x ** y; status 3: y is negative, status 1: the power does not fit 32 bits.
//
// Sizes are multiplied, and the sign comes last. A size of 2 or more leaves 32 bits after 32 products, so the loop is short.
extern "C" __global__ void power_kernel(const int *a, const int *b, int *out, int *status, int step_a, int step_b) {
    int i = threadIdx.x, x = a[i * step_a], y = b[i * step_b];
    unsigned size = x < 0 ? 0u - (unsigned)x : (unsigned)x, power = 1, overflow = 0;
    int times = size < 2 && y > 1 ? 1 : y;
    if (y < 0) *status = 3;
#pragma unroll 1
    for (; times > 0 && overflow == 0; --times) {
        overflow = __umulhi(power, size);
        power *= size;
    }
    bool is_negative = x < 0 && (y & 1);
    if (overflow != 0 || power > (is_negative ? 0x80000000u : 0x7fffffffu)) *status = 1;
    out[i] = (int)(is_negative ? 0u - power : power);
}
