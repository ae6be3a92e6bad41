// Kernels beyond the examples: shared memory, barriers, division, 64 bits, bytes, local arrays, switches, nested loops.
// kernels.clang32.ptx, kernels.clang64.ptx and kernels.nvrtc.ptx are what the front ends make of this file.

typedef unsigned u32;
typedef unsigned long long u64;

extern "C" __global__ void sha(const u32 *message, u32 *out, int n) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= n) return;
    u32 w[16];
    for (int t = 0; t < 16; t++) w[t] = message[i * 16 + t];
    u32 a = 0x6a09e667, b = 0xbb67ae85, c = 0x3c6ef372, d = 0xa54ff53a;
    u32 e = 0x510e527f, f = 0x9b05688c, g = 0x1f83d9ab, h = 0x5be0cd19;
    for (int t = 0; t < 64; t++) {
        u32 x = w[t & 15];
        if (t >= 16) {
            u32 s0 = w[(t + 1) & 15], s1 = w[(t + 14) & 15];
            s0 = (s0 >> 7 | s0 << 25) ^ (s0 >> 18 | s0 << 14) ^ (s0 >> 3);
            s1 = (s1 >> 17 | s1 << 15) ^ (s1 >> 19 | s1 << 13) ^ (s1 >> 10);
            x = w[t & 15] = x + s0 + w[(t + 9) & 15] + s1;
        }
        u32 S1 = (e >> 6 | e << 26) ^ (e >> 11 | e << 21) ^ (e >> 25 | e << 7);
        u32 t1 = h + S1 + ((e & f) ^ (~e & g)) + x + t * 0x9e3779b9;
        u32 S0 = (a >> 2 | a << 30) ^ (a >> 13 | a << 19) ^ (a >> 22 | a << 10);
        u32 t2 = S0 + ((a & b) ^ (a & c) ^ (b & c));
        h = g; g = f; f = e; e = d + t1; d = c; c = b; b = a; a = t1 + t2;
    }
    out[i] = a ^ b ^ c ^ d ^ e ^ f ^ g ^ h;
}

extern "C" __global__ void divide(const int *a, const int *b, int *out, int n) {
    int i = threadIdx.x;
    if (i < n) {
        u32 x = a[i], y = b[i];
        out[i] = a[i] / b[i] * 3 + a[i] % b[i] * 5 + x / y + x % y + a[i] / 7 + x % 10;
    }
}

extern "C" __global__ void wide(const int *a, const int *b, u64 *out, int n) {
    int i = threadIdx.x;
    if (i < n) {
        long long x = (long long)a[i] * b[i];
        u64 y = (u64)(u32)a[i] * (u32)b[i];
        u64 z = x < (long long)y ? x >> (b[i] & 63) : y << (a[i] & 63);
        out[i] = (x >> 5) ^ z ^ y / (u32)(b[i] | 1) ^ (u64)(x % 1000003) ^ (__clzll(y) << 20) ^ __popcll(x);
    }
}

extern "C" __global__ void scan(int *data, int n) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = t < n ? data[t] : 0;
    __syncthreads();
    for (int d = 1; d < blockDim.x; d *= 2) {
        int v = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += v;
        __syncthreads();
    }
    if (t < n) data[t] = s[t];
}

extern "C" __global__ void bitonic(int *data) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = data[t];
    __syncthreads();
    for (int k = 2; k <= blockDim.x; k *= 2) {
        for (int j = k / 2; j > 0; j /= 2) {
            int x = t ^ j;
            if (x > t) {
                int a = s[t], b = s[x];
                bool up = (t & k) == 0;
                if ((a > b) == up) {
                    s[t] = b;
                    s[x] = a;
                }
            }
            __syncthreads();
        }
    }
    data[t] = s[t];
}

extern "C" __global__ void histogram(const u32 *data, u32 *out, int n) {
    __shared__ u32 h[16];
    int t = threadIdx.x;
    if (t < 16) h[t] = 0;
    __syncthreads();
    for (int i = t; i < n; i += blockDim.x) atomicAdd(&h[data[i] & 15], 1u);
    __syncthreads();
    if (t < 16) atomicAdd(&out[t], h[t]);
}

extern "C" __global__ void queens(int *out, int n) {
    int count = 0, column = threadIdx.x, d = 1;
    if (column >= n) return;
    u32 all = (1u << n) - 1, columns[16], left[16], right[16], free[16];
    columns[1] = 1u << column;
    left[1] = columns[1] << 1;
    right[1] = columns[1] >> 1;
    free[1] = all & ~(columns[1] | left[1] | right[1]);
    while (d > 0) {
        if (free[d] == 0) {
            d--;
            continue;
        }
        u32 bit = free[d] & -free[d];
        free[d] ^= bit;
        if (d + 1 == n) {
            count++;
            continue;
        }
        columns[d + 1] = columns[d] | bit;
        left[d + 1] = (left[d] | bit) << 1;
        right[d + 1] = (right[d] | bit) >> 1;
        d++;
        free[d] = all & ~(columns[d] | left[d] | right[d]);
    }
    atomicAdd(out, count);
}

extern "C" __global__ void choose(const int *a, int *out, int n) {
    int i = threadIdx.x, r = 0;
    if (i >= n) return;
    for (int k = 0; k < 4; k++) {
        switch ((a[i] >> (k * 3)) & 7) {
        case 0: r += 3; break;
        case 1: r ^= a[i];
        case 2: r -= 7; break;
        case 3: r <<= 1; break;
        case 4: if (r > 50) goto done; r *= 5; break;
        case 5: r = ~r; break;
        default: r += k;
        }
    }
done:
    out[i] = r;
}

extern "C" __global__ void bytes(const unsigned char *s, const short *h, int *out, int n) {
    int i = threadIdx.x;
    if (i < n) {
        int total = 0;
        for (int k = 0; k < 5; k++) total = total * 31 + s[i + k];
        out[i] = total + h[i] * 3 + (signed char)s[i];
    }
}

extern "C" __global__ void life(const u32 *in, u32 *out, int w, int h) {
    int x = threadIdx.x, y = threadIdx.y, around = 0;
    for (int dy = -1; dy <= 1; dy++) {
        for (int dx = -1; dx <= 1; dx++) {
            if (dx || dy) around += in[(y + dy + h) % h * w + (x + dx + w) % w];
        }
    }
    out[y * w + x] = around == 3 || (in[y * w + x] && around == 2);
}
