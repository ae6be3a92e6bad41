// The Collatz sequences of several numbers, one a thread, each in a row of its own of `columns` words.
extern "C" __global__ void collatz_lanes(const unsigned *start, unsigned *sequences, int columns) {
    unsigned n = start[threadIdx.x];
    unsigned *at = sequences + threadIdx.x * columns;
    *at = n;
    while (n != 1) {
        n = n & 1 ? 3 * n + 1 : n >> 1;
        *++at = n;
    }
}
