// Greatest number of each segment of 16 lanes by a butterfly, so that every lane has it: it is subtracted from each.
extern "C" __global__ void shfl_xor(const int *in, int *out) {
    int i = threadIdx.x;
    int own = in[i], greatest = own;
    for (int bit = 8; bit > 0; bit /= 2) {
        greatest = max(greatest, __shfl_xor_sync(0xffffffff, greatest, bit, 16));
    }
    out[i] = own - greatest;
}
