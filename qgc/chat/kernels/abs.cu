// |x|; status 1: |-2^31| does not fit 32 bits.
extern "C" __global__ void abs_kernel(const int *a, int *out, int *status) {
    int i = threadIdx.x;
    int x = a[i];
    int size = x < 0 ? (int)(0u - (unsigned)x) : x;
    if (size < 0) *status = 1;
    out[i] = size;
}
