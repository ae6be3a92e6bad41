// The Collatz sequence of a number, down to 1, written out as it is found: one thread.
extern "C" __global__ void collatz(unsigned start, unsigned *sequence) {
    unsigned n = start, i = 0;
    sequence[0] = n;
    while (n != 1) {
        n = n & 1 ? 3 * n + 1 : n >> 1;
        sequence[++i] = n;
    }
}
