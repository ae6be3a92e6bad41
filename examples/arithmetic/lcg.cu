// A linear congruential generator, jumped ahead steps[i] steps at once: the map x -> ax + c is squared and multiplied.
extern "C" __global__ void lcg(unsigned *state, const unsigned *steps) {
    int i = threadIdx.x;
    unsigned a = 1664525, c = 1013904223;  // one step, then two, four, ...
    unsigned x = state[i];
    for (unsigned left = steps[i]; left != 0; left >>= 1) {
        if (left & 1) {
            x = a * x + c;
        }
        c = a * c + c;
        a = a * a;
    }
    state[i] = x;
}
