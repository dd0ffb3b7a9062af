/* A library without hooks. */
void fill(long *to, int n) {
    for (int i = 0; i < n; i++) to[i] = i;
}
