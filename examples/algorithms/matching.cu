// Perfect matching of least cost between n rows and n columns, by one thread: the Hungarian algorithm, a shortest
// augmenting path for each row in turn. Rows and columns count from 1; column 0 stands for the row to be matched.
//
// row_of[j] becomes the row of column j, and row_of[0] the cost. The other arrays are room for n + 1 words each.
extern "C" __global__ void matching(const int *cost, int n, int *row_of, int *row_price, int *column_price,
                                    int *distance, int *previous) {
#pragma unroll 1
    for (int j = 0; j <= n; j++) {
        row_of[j] = row_price[j] = column_price[j] = 0;
    }
#pragma unroll 1
    for (int row = 1; row <= n; row++) {
#pragma unroll 1
        for (int j = 1; j <= n; j++) {
            distance[j] = 0x3fffffff;
        }
        unsigned visited = 0;
        int column = 0, so_far = 0;  // the end of the path, and its length
        row_of[0] = row;
#pragma unroll 1
        do {
            visited |= 1u << column;
            int at = row_of[column], next = 0, nearest = 0x3fffffff;
            int base = so_far - row_price[at];
            const int *line = cost + (at - 1) * n - 1;
#pragma unroll 1
            for (int j = 1; j <= n; j++) {
                if (visited >> j & 1) {
                    continue;
                }
                int reached = base + line[j] - column_price[j];
                if (reached < distance[j]) {
                    distance[j] = reached;
                    previous[j] = column;
                } else {
                    reached = distance[j];
                }
                if (reached < nearest) {
                    nearest = reached;
                    next = j;
                }
            }
            column = next;
            so_far = nearest;
        } while (row_of[column] != 0);
        distance[0] = 0;
#pragma unroll 1
        for (int j = 0; j <= n; j++) {
            if (visited >> j & 1) {
                row_price[row_of[j]] += so_far - distance[j];
                column_price[j] -= so_far - distance[j];
            }
        }
#pragma unroll 1
        while (column != 0) {
            int before = previous[column];
            row_of[column] = row_of[before];
            column = before;
        }
    }
    row_of[0] = -column_price[0];
}
