// Sudoku by one thread. Sweeps over the empty cells fill in those that have one candidate left, until a sweep finds none:
// then the cell with the fewest candidates is guessed. A cell without a candidate takes back everything since the last
// guess, which is then replaced by the next one.
//
// `cells` is the board by rows, 0 for an empty cell; without a solution it comes back as it was. `used` (27 words) has the
// digits of each row, column and square as bits, `trail` (81) the cells in the order in which they were filled, and
// `guesses` (2 x 81) the length of the trail before each guess and the candidates that are left for its cell.
__device__ __forceinline__ void mark(unsigned *used, int cell, unsigned digit) {
    int row = cell / 9, column = cell - 9 * row;
    used[row] ^= digit;
    used[9 + column] ^= digit;
    used[18 + row / 3 * 3 + column / 3] ^= digit;
}

extern "C" __global__ void sudoku(int *cells, unsigned *used, int *trail, int *guesses) {
#pragma unroll 1
    for (int k = 0; k < 27; k++) {
        used[k] = 0;
    }
    int empty = 0;
#pragma unroll 1
    for (int cell = 0; cell < 81; cell++) {
        if (cells[cell] != 0) {
            mark(used, cell, 1u << cells[cell]);
        } else {
            empty++;
        }
    }
    int filled = 0, depth = 0;
#pragma unroll 1
    while (filled < empty) {
        int before = filled, chosen = 0, fewest = 10;
        unsigned choices = 0;
        int row = 0, column = 0;
#pragma unroll 1
        for (int cell = 0; cell < 81; cell++) {
            if (cells[cell] == 0) {
                unsigned candidates = ~(used[row] | used[9 + column] | used[18 + row / 3 * 3 + column / 3]) & 0x3fe;
                int count = __popc(candidates);
                if (count == 1) {
                    cells[cell] = __ffs(candidates) - 1;
                    mark(used, cell, candidates);
                    trail[filled++] = cell;
                } else if (count < fewest) {
                    fewest = count, chosen = cell, choices = candidates;
                    if (count == 0) {
                        break;
                    }
                }
            }
            if (++column == 9) {
                column = 0, row++;
            }
        }
        if (fewest != 0 && filled > before) {
            continue;
        }
        if (fewest != 0) {  // nothing certain is left: guess
            guesses[2 * depth] = filled;
        } else {  // take back the last guess, and those before it that have no other candidate
#pragma unroll 1
            do {
                if (depth == 0) {
#pragma unroll 1
                    while (filled > 0) {
                        cells[trail[--filled]] = 0;
                    }
                    return;
                }
                depth--;
                int start = guesses[2 * depth];
#pragma unroll 1
                while (filled > start) {
                    chosen = trail[--filled];
                    mark(used, chosen, 1u << cells[chosen]);
                    cells[chosen] = 0;
                }
                choices = guesses[2 * depth + 1];
            } while (choices == 0);
        }
        unsigned digit = choices & -choices;
        guesses[2 * depth + 1] = choices ^ digit;
        depth++;
        cells[chosen] = __ffs(digit) - 1;
        mark(used, chosen, digit);
        trail[filled++] = chosen;
    }
}
