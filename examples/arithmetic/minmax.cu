// Orders of two numbers: clamped to -100 .. 100, smaller and larger without sign, distance, and mean rounded down.
extern "C" __global__ void minmax(const int *a, const int *b, int *clamped, unsigned *smaller, unsigned *larger,
                                  int *size, unsigned *distance, int *mean) {
    int i = threadIdx.x;
    int x = a[i], y = b[i];
    clamped[i] = max(-100, min(x, 100));
    smaller[i] = min(static_cast<unsigned>(x), static_cast<unsigned>(y));
    larger[i] = max(static_cast<unsigned>(x), static_cast<unsigned>(y));
    size[i] = abs(x);
    distance[i] = __sad(x, y, 0);
    mean[i] = __hadd(x, y);
}
