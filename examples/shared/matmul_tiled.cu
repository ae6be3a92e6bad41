// Product of two n x n matrices: a block computes a 4 x 4 tile and brings the tiles that it needs to shared memory.
extern "C" __global__ void matmul_tiled(const int *a, const int *b, int n, int *c) {
    __shared__ int left[4][4], right[4][4];
    int x = threadIdx.x, y = threadIdx.y;
    int row = 4 * blockIdx.y + y, column = 4 * blockIdx.x + x;
    int total = 0;
    for (int first = 0; first < n; first += 4) {
        left[y][x] = row < n && first + x < n ? a[row * n + first + x] : 0;
        right[y][x] = first + y < n && column < n ? b[(first + y) * n + column] : 0;
        __syncthreads();
#pragma unroll 1
        for (int k = 0; k < 4; k++) {
            total += left[y][k] * right[k][x];
        }
        __syncthreads();
    }
    if (row < n && column < n) {
        c[row * n + column] = total;
    }
}
