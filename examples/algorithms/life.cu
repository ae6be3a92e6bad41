// One generation of Conway's Game of Life on a torus, a thread a cell.
extern "C" __global__ void life(const int *cells, int *next) {
    int x = threadIdx.x, y = threadIdx.y, columns = blockDim.x, rows = blockDim.y;
    int left = x == 0 ? columns - 1 : x - 1, right = x == columns - 1 ? 0 : x + 1;
    int neighbours = -cells[y * columns + x];
#pragma unroll 1
    for (int step = -1; step <= 1; step++) {
        int row = y + step;
        row = row < 0 ? rows - 1 : row == rows ? 0 : row;
        const int *line = cells + row * columns;
        neighbours += line[left] + line[x] + line[right];
    }
    next[y * columns + x] = neighbours == 3 || (neighbours == 2 && cells[y * columns + x]);
}
