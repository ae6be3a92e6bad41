// A product of matrices, a thread for each element at (x, y); a dot product is the case of one row and one column.
//
// Sums have 64 bits. Status 1: an element does not fit 32 bits, or a sum on the way to it does not fit 64.
extern "C" __global__ void matmul_kernel(const int *a, const int *b, int *out, int *status, int inner) {
    int row = threadIdx.y, column = threadIdx.x, columns = blockDim.x;
    unsigned low = 0;
    int high = 0;
#pragma unroll 1
    for (int k = 0; k < inner; ++k) {
        int x = a[row * inner + k], y = b[k * columns + column];
        unsigned part = (unsigned)x * (unsigned)y;
        low += part;
        int upper = __mulhi(x, y) + (low < part), next = (int)((unsigned)high + (unsigned)upper);
        if (((high ^ next) & (upper ^ next)) < 0) *status = 1;
        high = next;
    }
    if (high != (int)low >> 31) *status = 1;
    out[row * columns + column] = (int)low;
}
