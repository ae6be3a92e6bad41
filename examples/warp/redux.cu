// Reductions over a warp in one operation each: sum, least and greatest, and the bits that all, some and an odd number
// of lanes have.
extern "C" __global__ void redux(const int *in, int *sum, int *least, unsigned *greatest, unsigned *all, unsigned *some,
                                 unsigned *odd) {
    int i = threadIdx.x;
    int own = in[i];
    unsigned bits = own;
    sum[i] = __reduce_add_sync(0xffffffff, own);
    least[i] = __reduce_min_sync(0xffffffff, own);
    greatest[i] = __reduce_max_sync(0xffffffff, bits);
    all[i] = __reduce_and_sync(0xffffffff, bits);
    some[i] = __reduce_or_sync(0xffffffff, bits);
    odd[i] = __reduce_xor_sync(0xffffffff, bits);
}
