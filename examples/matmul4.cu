// Product of two 4x4 matrices stored by rows: thread (x, y) computes column x of row y.
extern "C" __global__ void matmul4(const int *a, const int *b, int *c) {
    int row = threadIdx.y, column = threadIdx.x;
    int total = 0;
    for (int k = 0; k < 4; k++) {
        total += a[4 * row + k] * b[4 * k + column];
    }
    c[4 * row + column] = total;
}
