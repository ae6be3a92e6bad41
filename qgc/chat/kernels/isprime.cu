// 1 where x is prime, else 0: the test of Miller and Rabin, in Montgomery's arithmetic.
//
// x is composite when x - 1 is no exponent that takes a base to 1, or when 1 has a square root other than 1 and -1 on the way.
// Bases 2, 3, 5 and 7 decide every number below 3,215,031,751 (Jaeschke 1993, "On strong pseudoprimes to several bases").
// One multiplication in the program serves squares and products with the base: registers are scarce.
static __device__ unsigned plus(unsigned x, unsigned y, unsigned p) {
    return x + y >= p ? x + y - p : x + y;
}

extern "C" __global__ void isprime_kernel(const int *a, int *out, int *status) {
    int i = threadIdx.x;
    unsigned p = (unsigned)a[i], small = 2;
    if (a[i] > 10 && (p & 1)) {
        unsigned inverse = p, one = 1;  // 1/p modulo 2^32: right in the low 3 bits, and in twice as many after each step
#pragma unroll 1
        for (int k = 0; k < 4; ++k) inverse *= 2 - p * inverse;
#pragma unroll 1
        for (int k = 0; k < 32; ++k) one = plus(one, one, p);
        while (small < 9) {
            unsigned base = one;
#pragma unroll 1
            for (unsigned k = 1; k < small; ++k) base = plus(base, one, p);
            unsigned power = one;
            int step = 61;  // for each bit of x - 1 from the top a square, then a product if it is set
#pragma unroll 1
            for (; step >= 0; --step) {
                if (!(step & 1) && !((p - 1) >> (step >> 1) & 1)) continue;
                unsigned factor = step & 1 ? power : base, low = power * factor, m = 0u - low * inverse;
                unsigned next = __umulhi(power, factor) + __umulhi(m, p) + (low != 0);  // below 2p, and p is below 2^31
                next = next >= p ? next - p : next;
                if ((step & 1) && next == one && power != one && power != p - one) break;
                power = next;
            }
            small = step < 0 && power == one ? small + (small == 2 ? 1 : 2) : 99;
        }
    }
    out[i] = small == 9 || p == 2 || p == 3 || p == 5 || p == 7;
}
