// Quotients and remainders of numbers that only the launch knows: signed, towards zero, and of the same bits unsigned.
extern "C" __global__ void divmod(const int *a, const int *b, int *quotient, int *remainder, unsigned *uquotient,
                                  unsigned *uremainder) {
    int i = threadIdx.x;
    int x = a[i], y = b[i];
    quotient[i] = x / y;
    remainder[i] = x % y;
    unsigned ux = x, uy = y;
    uquotient[i] = ux / uy;
    uremainder[i] = ux % uy;
}
