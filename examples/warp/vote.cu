// The positive numbers, moved to the front in their order: a ballot tells each lane how many stand before it. And
// whether there is any, and whether all are.
extern "C" __global__ void vote(const int *in, int *out, int *any, int *all) {
    int i = threadIdx.x;
    int own = in[i];
    unsigned positive = __ballot_sync(0xffffffff, own > 0);
    if (own > 0) {
        out[__popc(positive & ((1u << i) - 1))] = own;
    }
    any[i] = __any_sync(0xffffffff, own > 0);
    all[i] = __all_sync(0xffffffff, own > 0);
}
