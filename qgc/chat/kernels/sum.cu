// Sum of n words, in 64 bits; status 1: it does not fit 32.
extern "C" __global__ void sum_kernel(const int *a, int *out, int *status, int n) {
    unsigned low = 0;
    int high = 0;
#pragma unroll 1
    for (int i = 0; i < n; ++i) {
        unsigned x = (unsigned)a[i];
        low += x;
        high += ((int)x >> 31) + (low < x);
    }
    if (high != (int)low >> 31) *status = 1;
    out[0] = (int)low;
}
