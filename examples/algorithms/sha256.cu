// The compression function of SHA-256 (FIPS 180-4): each thread takes one block of 16 words into a state of 8. The words
// of the message are overwritten: each by the one 16 rounds later.
__device__ __forceinline__ unsigned rotate(unsigned x, int count) { return __funnelshift_r(x, x, count); }

extern "C" __global__ void sha256(const unsigned *constants, unsigned *message, unsigned *state) {
    unsigned *words = message + 16 * threadIdx.x, *hash = state + 8 * threadIdx.x;
    unsigned a = hash[0], b = hash[1], c = hash[2], d = hash[3];
    unsigned e = hash[4], f = hash[5], g = hash[6], h = hash[7];
#pragma unroll 1
    for (int round = 0; round < 64; round++) {
        unsigned word = words[round & 15];
        unsigned before = words[round + 1 & 15], late = words[round + 14 & 15];
        unsigned small0 = rotate(before, 7) ^ rotate(before, 18) ^ before >> 3;
        unsigned small1 = rotate(late, 17) ^ rotate(late, 19) ^ late >> 10;
        words[round & 15] = word + small0 + words[round + 9 & 15] + small1;

        unsigned large1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
        unsigned large0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
        unsigned t = h + large1 + (g ^ e & (f ^ g)) + constants[round] + word;
        unsigned majority = a & b | c & (a | b);
        h = g, g = f, f = e, e = d + t;
        d = c, c = b, b = a, a = t + large0 + majority;
    }
    hash[0] += a, hash[1] += b, hash[2] += c, hash[3] += d;
    hash[4] += e, hash[5] += f, hash[6] += g, hash[7] += h;
}
