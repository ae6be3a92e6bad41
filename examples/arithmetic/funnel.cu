// Funnel shifts of the pair high:low, by the count modulo 32 and by at most 32, and a rotation.
extern "C" __global__ void funnel(const unsigned *low, const unsigned *high, const unsigned *count, unsigned *left,
                                  unsigned *right, unsigned *left_clamped, unsigned *right_clamped,
                                  unsigned *rotated) {
    int i = threadIdx.x;
    unsigned lo = low[i], hi = high[i], n = count[i];
    left[i] = __funnelshift_l(lo, hi, n);
    right[i] = __funnelshift_r(lo, hi, n);
    left_clamped[i] = __funnelshift_lc(lo, hi, n);
    right_clamped[i] = __funnelshift_rc(lo, hi, n);
    rotated[i] = __funnelshift_l(lo, lo, n);
}
