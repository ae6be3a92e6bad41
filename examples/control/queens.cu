// Ways to place n queens (3 to 8) on an n x n board: thread i counts those with the first row's queen in column i.
// Backtracking without a stack: the columns of the queens are nibbles of one word.
extern "C" __global__ void queens(int n, int *ways) {
    int column = threadIdx.x, row = 0, count = 0;
    unsigned columns = 0, rising = 0, falling = 0, placed = 0;
    for (;;) {
        if (column < n) {
            unsigned c = 1u << column, r = 1u << (row + column), f = 1u << (row - column + n);
            if ((columns & c) | (rising & r) | (falling & f)) {
                column++;
                continue;
            }
            if (row < n - 1) {
                columns |= c, rising |= r, falling |= f;
                placed = placed << 4 | column;
                row++;
                column = 0;
                continue;
            }
            count++;
        }
        row--;  // take the queen of the row before away and move it on
        if (row == 0) {
            break;
        }
        column = placed & 15;
        placed >>= 4;
        columns ^= 1u << column, rising ^= 1u << (row + column), falling ^= 1u << (row - column + n);
        column++;
    }
    ways[threadIdx.x] = count;
}
