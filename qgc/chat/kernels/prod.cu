// Product of n words, 1 of none; status 1: it does not fit 32 bits.
//
// Sizes are multiplied, and the sign comes last. Without a 0 no size gets smaller, so one that is too large stays so.
extern "C" __global__ void prod_kernel(const int *a, int *out, int *status, int n) {
    unsigned size = 1;
    int sign = 0;
    bool overflows = false, is_zero = false;
#pragma unroll 1
    for (int i = 0; i < n; ++i) {
        int x = a[i];
        unsigned y = x < 0 ? 0u - (unsigned)x : (unsigned)x;
        sign ^= x;
        is_zero |= x == 0;
        overflows |= __umulhi(size, y) != 0;
        size *= y;
    }
    if (!is_zero && (overflows || size > (sign < 0 ? 0x80000000u : 0x7fffffffu))) *status = 1;
    out[0] = (int)(is_zero ? 0 : sign < 0 ? 0u - size : size);
}
