// Counters that wrap: up from `limit` to 0 and down from 0 to `limit`. Each thread adds what it found to a sum: in any
// order the same.
extern "C" __global__ void wrap(unsigned *up, unsigned *down, unsigned limit, unsigned *up_sum, unsigned *down_sum) {
    atomicAdd(up_sum, atomicInc(up, limit));
    atomicAdd(down_sum, atomicDec(down, limit));
}
