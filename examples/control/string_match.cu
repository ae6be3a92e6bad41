// Where a pattern occurs in a text: thread i compares from position i on, up to the first difference. One character a
// word; 0 in the pattern matches any character.
extern "C" __global__ void string_match(const int *text, int length, const int *pattern, int size, int *found) {
    int i = threadIdx.x;
    if (i + size > length) {
        found[i] = 0;
        return;
    }
    for (int k = 0; k < size; k++) {
        if (pattern[k] != 0 && pattern[k] != text[i + k]) {
            found[i] = 0;
            return;
        }
    }
    found[i] = 1;
}
