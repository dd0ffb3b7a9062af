/* Loops that every compiler would vectorise. */
void add(double *restrict to, const double *restrict a, const double *restrict b, long n);
void add(double *restrict to, const double *restrict a, const double *restrict b, long n) {
    for (long i = 0; i < n; i++)
        to[i] += a[i] * b[i];
}

void quad(double *restrict to, const double *restrict a);
void quad(double *restrict to, const double *restrict a) {
    to[0] = a[0] * 2;
    to[1] = a[1] * 2;
    to[2] = a[2] * 2;
    to[3] = a[3] * 2;
}
