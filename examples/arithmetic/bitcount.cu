// Ones, leading zeros, place of the lowest one (counted from 1, 0 for none), and the bits in reverse.
extern "C" __global__ void bitcount(const unsigned *a, int *ones, int *leading, int *lowest, unsigned *reversed) {
    int i = threadIdx.x;
    unsigned x = a[i];
    ones[i] = __popc(x);
    leading[i] = __clz(x);
    lowest[i] = __ffs(x);
    reversed[i] = __brev(x);
}
