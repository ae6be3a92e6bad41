// One step of breadth-first search: the neighbours of vertices at distance `depth` that are not reached yet (-1) are at
// depth + 1. Vertex v has the edges first[v] up to first[v + 1].
extern "C" __global__ void bfs(const int *first, const int *edges, int vertices, int depth, int *distance,
                               int *is_changed) {
    int v = threadIdx.x;
    if (v < vertices && distance[v] == depth) {
        for (int e = first[v]; e < first[v + 1]; e++) {
            if (distance[edges[e]] == -1) {
                distance[edges[e]] = depth + 1;
                *is_changed = 1;
            }
        }
    }
}
