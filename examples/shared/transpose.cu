// Transpose of a matrix by 4 x 4 tiles: rows are read and rows are written, the turn is made in shared memory. The
// fifth column keeps the words of a tile's column in different banks.
extern "C" __global__ void transpose(const int *in, int rows, int columns, int *out) {
    __shared__ int tile[4][5];
    int x = threadIdx.x, y = threadIdx.y;
    int row = 4 * blockIdx.y + y, column = 4 * blockIdx.x + x;
    if (row < rows && column < columns) {
        tile[y][x] = in[row * columns + column];
    }
    __syncthreads();
    row = 4 * blockIdx.x + y, column = 4 * blockIdx.y + x;  // of the result
    if (row < columns && column < rows) {
        out[row * rows + column] = tile[x][y];
    }
}
