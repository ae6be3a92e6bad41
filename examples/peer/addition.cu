// The sum of two decimal numbers of n digits, one digit a word, the most significant first; the sum has n + 1: one thread.
extern "C" __global__ void addition(const int *a, const int *b, int n, int *sum) {
    int carry = 0;
    for (int i = n; i > 0; i--) {
        int digit = a[i - 1] + b[i - 1] + carry;
        carry = digit > 9;
        sum[i] = carry ? digit - 10 : digit;
    }
    sum[0] = carry;
}
