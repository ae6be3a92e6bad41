// The same sum, a thread for each of its n + 1 digits. What is carried into a digit is found by looking right, past all
// pairs that add up to 9: the first other pair decides. On random digits that takes 1.1 looks.
extern "C" __global__ void addition_lanes(const int *a, const int *b, int n, int *sum) {
    int i = threadIdx.x;
    int right = 0;
    for (int j = i; j < n; j++) {
        right = a[j] + b[j];
        if (right != 9) break;
    }
    int digit = right > 9;
    if (i > 0) digit += a[i - 1] + b[i - 1];
    sum[i] = digit > 9 ? digit - 10 : digit;
}
