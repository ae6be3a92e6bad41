// Largest element of each row of a matrix, one thread a row: compare and select, no branch on the data.
extern "C" __global__ void maximum(const int *a, int columns, int *out) {
    int row = threadIdx.x;
    const int *line = a + row * columns;
    int best = line[0];
    for (int k = 1; k < columns; k++) {
        best = line[k] > best ? line[k] : best;
    }
    out[row] = best;
}
