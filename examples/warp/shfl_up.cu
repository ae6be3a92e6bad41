// Prefix sums within segments of eight lanes, from lane to lane.
extern "C" __global__ void shfl_up(const int *in, int *out) {
    int i = threadIdx.x;
    int sum = in[i];
    for (int step = 1; step < 8; step *= 2) {
        int below = __shfl_up_sync(0xffffffff, sum, step, 8);
        if ((i & 7) >= step) {
            sum += below;
        }
    }
    out[i] = sum;
}
