// Sieve of Eratosthenes over 0 .. n - 1: all threads strike the multiples of one prime together, then look for the next.
extern "C" __global__ void sieve(int n, int *is_prime) {
    for (int k = threadIdx.x; k < n; k += blockDim.x) {
        is_prime[k] = k >= 2;
    }
    __syncthreads();
    for (int p = 2; p * p < n; p++) {
        if (is_prime[p]) {
            for (int k = p * p + threadIdx.x * p; k < n; k += blockDim.x * p) {
                is_prime[k] = 0;
            }
        }
        __syncthreads();
    }
}
