// Steps of the Collatz sequence from start[i] >= 1 down to 1: the lanes leave the loop at different times.
extern "C" __global__ void collatz(const unsigned *start, int *steps) {
    int i = threadIdx.x;
    unsigned x = start[i];
    int count = 0;
    while (x != 1) {
        x = x & 1 ? 3 * x + 1 : x >> 1;
        count++;
    }
    steps[i] = count;
}
