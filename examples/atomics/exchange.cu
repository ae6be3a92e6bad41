// A linked list that all threads push to at once: each puts itself in front and keeps who was there. Then one thread
// walks it. The order of the list is open, its length and sum are not.
extern "C" __global__ void exchange(const int *value, int *length, int *sum) {
    __shared__ int head, next[32];
    int i = threadIdx.x;
    if (i == 0) {
        head = -1;
    }
    __syncthreads();
    if (value[i] >= 0) {
        next[i] = atomicExch(&head, i);
    }
    __syncthreads();
    if (i == 0) {
        int count = 0, total = 0;
        for (int at = head; at != -1; at = next[at]) {
            count++;
            total += value[at];
        }
        *length = count;
        *sum = total;
    }
}
