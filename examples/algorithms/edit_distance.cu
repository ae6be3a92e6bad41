// Levenshtein distances of the whole of a to every prefix of b: a thread a column, and the rows in a wave, each column
// one row behind the column on its left.
extern "C" __global__ void edit_distance(const int *a, int rows, const int *b, int *distance) {
    __shared__ int last[32];  // of each column, the distance that it found last
    int column = threadIdx.x;
    int letter = b[column];
    int above = column + 1, corner = column;
    for (int step = 0; step < rows + blockDim.x - 1; step++) {
        int row = step - column;
        int left = column == 0 ? row + 1 : last[column - 1];
        __syncthreads();
        if (row >= 0 && row < rows) {
            int replaced = corner + (a[row] != letter);
            above = min(min(above, left) + 1, replaced);
            corner = left;
            last[column] = above;
        }
        __syncthreads();
    }
    distance[column] = above;
}
