// CRC-32 (of Ethernet, zip and PNG), bit by bit: each thread has its own message of `length` bytes, one byte a word.
extern "C" __global__ void crc32(const unsigned *message, int length, unsigned *crc) {
    const unsigned *byte = message + threadIdx.x * length;
    unsigned rest = ~0u;
    for (int i = 0; i < length; i++) {
        rest ^= byte[i];
        for (int bit = 0; bit < 8; bit++) rest = rest & 1 ? rest >> 1 ^ 0xEDB88320u : rest >> 1;
    }
    crc[threadIdx.x] = ~rest;
}
