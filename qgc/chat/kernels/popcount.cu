// Ones in |x|, added in pairs, fours, bytes.
extern "C" __global__ void popcount_kernel(const int *a, int *out, int *status) {
    int i = threadIdx.x;
    int x = a[i];
    unsigned ones = x < 0 ? 0u - (unsigned)x : (unsigned)x;
    ones -= ones >> 1 & 0x55555555;
    ones = (ones & 0x33333333) + (ones >> 2 & 0x33333333);
    ones = ones + (ones >> 4) & 0x0f0f0f0f;
    out[i] = (int)(ones * 0x01010101 >> 24);
}
