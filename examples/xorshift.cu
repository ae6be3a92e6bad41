// Marsaglia's xorshift32: each thread advances its own non-zero seed by a number of steps.
extern "C" __global__ void xorshift(unsigned *state, int steps) {
    int i = threadIdx.x;
    unsigned x = state[i];
    for (int k = 0; k < steps; k++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
    }
    state[i] = x;
}
