// Sets of small numbers as bits: those that occur, those that do not, and those that occur an odd number of times. What
// the last update of a bit finds is also counted: how many numbers had been seen before.
extern "C" __global__ void bitmap(const int *a, unsigned *seen, unsigned *missing, unsigned *odd, int *repeats) {
    unsigned bit = 1u << a[threadIdx.x];
    unsigned before = atomicOr(seen, bit);
    atomicAnd(missing, ~bit);
    atomicXor(odd, bit);
    if (before & bit) {
        atomicAdd(repeats, 1);
    }
}
