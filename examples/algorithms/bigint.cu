// Products of large numbers, one a thread: n words each, the lowest first, multiplied as at school.
extern "C" __global__ void bigint(const unsigned *a, const unsigned *b, int n, unsigned *product) {
    a += threadIdx.x * n, b += threadIdx.x * n, product += threadIdx.x * 2 * n;
#pragma unroll 1
    for (int k = 0; k < n; k++) {
        product[k] = 0;
    }
#pragma unroll 1
    for (int i = 0; i < n; i++, product++) {
        unsigned digit = a[i], carry = 0;
#pragma unroll 1
        for (int k = 0; k < n; k++) {
            unsigned long long sum = static_cast<unsigned long long>(digit) * b[k] + product[k] + carry;
            product[k] = static_cast<unsigned>(sum);
            carry = static_cast<unsigned>(sum >> 32);
        }
        product[n] = carry;
    }
}
