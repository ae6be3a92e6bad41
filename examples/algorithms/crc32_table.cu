// CRC-32 by a table of 16 words, which the threads make together; then each takes its own message of `length` bytes,
// packed into words, and uses the table twice a byte.
extern "C" __global__ void crc32_table(const unsigned *messages, int length, int stride, unsigned *crc) {
    __shared__ unsigned table[16];
    int i = threadIdx.x;
    for (int nibble = i; nibble < 16; nibble += blockDim.x) {
        unsigned rest = nibble;
        for (int bit = 0; bit < 4; bit++) {
            rest = rest & 1 ? rest >> 1 ^ 0xEDB88320u : rest >> 1;
        }
        table[nibble] = rest;
    }
    __syncthreads();
    const unsigned char *message = reinterpret_cast<const unsigned char *>(messages + i * stride);
    unsigned rest = ~0u;
#pragma unroll 1
    for (int k = 0; k < length; k++) {
        rest ^= message[k];
        rest = rest >> 4 ^ table[rest & 15];
        rest = rest >> 4 ^ table[rest & 15];
    }
    crc[i] = ~rest;
}
