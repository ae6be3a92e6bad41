// Bytes of a word in reverse order, its halves exchanged, and four bytes of a pair of words by a selector: the low three
// bits of a nibble for each byte of the result.
extern "C" __global__ void byteperm(const unsigned *a, const unsigned *b, const unsigned *selector,
                                    unsigned *reversed, unsigned *halves, unsigned *chosen) {
    int i = threadIdx.x;
    reversed[i] = __byte_perm(a[i], 0, 0x0123);
    halves[i] = __byte_perm(a[i], 0, 0x1032);
    chosen[i] = __byte_perm(a[i], b[i], selector[i]);
}
