// Which lanes have the same number: how many, and the first of them; and whether the lowest bits are all the same.
extern "C" __global__ void match(const int *in, int *count, int *first, int *same) {
    int i = threadIdx.x;
    unsigned equal = __match_any_sync(0xffffffff, in[i]);
    count[i] = __popc(equal);
    first[i] = __ffs(equal) - 1;
    int is_same;
    unsigned lanes = __match_all_sync(0xffffffff, in[i] & 1, &is_same);
    same[i] = is_same ? __popc(lanes) : 0;
}
