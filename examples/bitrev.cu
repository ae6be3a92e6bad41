// Bit reversal: the lowest bit of x goes in at the right of the result, 32 times.
extern "C" __global__ void bitrev(const unsigned *a, unsigned *out) {
    int i = threadIdx.x;
    unsigned x = a[i], reversed = 0;
#pragma unroll 1  // a loop, not 32 copies of its body
    for (int k = 0; k < 32; k++) {
        reversed = reversed << 1 | (x & 1);
        x >>= 1;
    }
    out[i] = reversed;
}
