// An atomic operation of one's own, by compare and swap: the product of all factors modulo 65521. A thread that lost the
// race starts again from what the winner left.
extern "C" __global__ void cas(const unsigned *factor, unsigned *product) {
    unsigned mine = factor[threadIdx.x] % 65521;
    unsigned old = *product, found;
    do {
        found = old;
        old = atomicCAS(product, found, found * mine % 65521);
    } while (old != found);
}
