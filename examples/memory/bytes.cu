// Words read as bytes and halves: thread i loads byte i with and without sign, and half i / 2 with and without sign.
extern "C" __global__ void bytes(const int *words, int *sbyte, unsigned *ubyte, int *shalf, unsigned *uhalf) {
    int i = threadIdx.x;
    sbyte[i] = reinterpret_cast<const signed char *>(words)[i];
    ubyte[i] = reinterpret_cast<const unsigned char *>(words)[i];
    shalf[i] = reinterpret_cast<const short *>(words)[i / 2];
    uhalf[i] = reinterpret_cast<const unsigned short *>(words)[i / 2];
}
