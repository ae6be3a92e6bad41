// The field of width[i] bits (1 to 31) from bit start[i] up: its value, its value with a sign, and the word with
// another value in its place. And a colour of 8, 8 and 8 bits as one of 5, 6 and 5.
extern "C" __global__ void bitfield(const unsigned *word, const int *start, const int *width, unsigned *field,
                                    int *sfield, unsigned *replaced, unsigned *colour) {
    int i = threadIdx.x;
    unsigned x = word[i], low = start[i], mask = (1u << width[i]) - 1;
    field[i] = x >> low & mask;
    int above = 32 - width[i];
    sfield[i] = static_cast<int>(x << (above - low)) >> above;
    replaced[i] = (x & ~(mask << low)) | (i + 1 & mask) << low;
    unsigned red = x >> 19 & 31, green = x >> 10 & 63, blue = x >> 3 & 31;
    colour[i] = red << 11 | green << 5 | blue;
}
