// Sums of the first 1, 2, ..., n words; status 1: one of them does not fit 32 bits.
extern "C" __global__ void cumsum_kernel(const int *a, int *out, int *status, int n) {
    int sum = 0;
#pragma unroll 1
    for (int i = 0; i < n; ++i) {
        int x = a[i], next = (int)((unsigned)sum + (unsigned)x);
        if (((x ^ next) & (sum ^ next)) < 0) *status = 1;
        out[i] = next;
        sum = next;
    }
}
