// High words of products, signed and unsigned, and the product of fixed-point numbers with 16 bits after the point.
extern "C" __global__ void mulhi(const int *a, const int *b, int *high, unsigned *uhigh, int *fixed) {
    int i = threadIdx.x;
    int x = a[i], y = b[i];
    high[i] = __mulhi(x, y);
    uhigh[i] = __umulhi(x, y);
    fixed[i] = static_cast<int>(static_cast<long long>(x) * y >> 16);
}
