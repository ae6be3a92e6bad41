// -x; status 1: -(-2^31) does not fit 32 bits.
extern "C" __global__ void negate_kernel(const int *a, int *out, int *status) {
    int i = threadIdx.x;
    int x = a[i];
    int negative = (int)(0u - (unsigned)x);
    if (x == negative && x != 0) *status = 1;
    out[i] = negative;
}
