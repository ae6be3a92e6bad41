// x!; status 3: x is negative, status 1: above 12!, which is the last one of 32 bits.
extern "C" __global__ void factorial_kernel(const int *a, int *out, int *status) {
    int i = threadIdx.x;
    int x = a[i];
    int product = 1;
    if (x < 0) *status = 3;
    if (x > 12) *status = 1;
#pragma unroll 1
    for (int k = x > 12 ? 0 : x; k > 1; --k) product *= k;
    out[i] = product;
}
