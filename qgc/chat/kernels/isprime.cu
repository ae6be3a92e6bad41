// 1 where x is prime, else 0: the test of Miller and Rabin, with products modulo x by doubling and adding.
//
// x is composite when x - 1 is no exponent that takes a base to 1, or when 1 has a square root other than 1 and -1 on the way.
// Bases 2, 3, 5 and 7 decide every number below 3,215,031,751 (Jaeschke 1993, "On strong pseudoprimes to several bases").
static __device__ unsigned plus(unsigned x, unsigned y, unsigned p) {
    return x + y >= p ? x + y - p : x + y;  // p is below 2^31, so that nothing is lost
}

extern "C" __global__ void isprime_kernel(const int *a, int *out, int *status) {
    int i = threadIdx.x;
    unsigned p = (unsigned)a[i], base = 2;
    if (a[i] < 11 || !(p & 1)) {
        out[i] = p == 2 || p == 3 || p == 5 || p == 7;
        return;
    }
    while (base < 9) {
        unsigned power = 1, bit = 1u << 30;
#pragma unroll 1
        while (bit > p) bit >>= 1;
#pragma unroll 1
        for (; bit != 0; bit >>= 1) {
            unsigned square = 0, twice = power;
#pragma unroll 1
            for (unsigned left = power; left != 0; left >>= 1) {
                if (left & 1) square = plus(square, twice, p);
                twice = plus(twice, twice, p);
            }
            if (square == 1 && power != 1 && power != p - 1) break;
            power = square;
            if ((p - 1) & bit) {
#pragma unroll 1
                for (unsigned k = 1; k < base; ++k) power = plus(power, square, p);
            }
        }
        base = bit == 0 && power == 1 ? base + (base == 2 ? 1 : 2) : 99;
    }
    out[i] = base == 9;
}
