// Sum of two matrices, one element a thread, in two-dimensional blocks that stand over the edges.
extern "C" __global__ void grid2d(const int *a, const int *b, int rows, int columns, int *c) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns) {
        int at = row * columns + column;
        c[at] = a[at] + b[at];
    }
}
