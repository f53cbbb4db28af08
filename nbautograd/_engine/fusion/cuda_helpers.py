"""CUDA C++ functions that CUDA lacks, or that differ in CUDA from NumPy and PyTorch."""

from __future__ import annotations

_CODE = """
__device__ inline double nbautograd_inf() { return __longlong_as_double(0x7ff0000000000000LL); }

__device__ inline double nbautograd_nan() { return __longlong_as_double(0x7ff8000000000000LL); }

template <class T> __device__ inline bool nbautograd_isinf(T x) { return x == x && x - x != T(0); }

template <class T> __device__ inline bool nbautograd_isfinite(T x) { return x - x == T(0); }

template <class T> __device__ inline T nbautograd_sign(T x) { return x != x ? x : T((x > T(0)) - (x < T(0))); }

template <class T> __device__ inline T nbautograd_absolute(T x) { return x < T(0) ? -x : x; }

template <class T> __device__ inline T nbautograd_maximum(T a, T b) { return a >= b || a != a ? a : b; }

template <class T> __device__ inline T nbautograd_minimum(T a, T b) { return a <= b || a != a ? a : b; }

template <class T> __device__ inline T nbautograd_fmax(T a, T b) { return a >= b || b != b ? a : b; }

template <class T> __device__ inline T nbautograd_fmin(T a, T b) { return a <= b || b != b ? a : b; }

template <class T> __device__ inline T nbautograd_heaviside(T x, T at_zero) {
  return x != x ? x : x == T(0) ? at_zero : T(x > T(0));
}

template <class T> __device__ inline T nbautograd_floor_divide(T a, T b) {
  if (b == T(0)) return a / b;
  const T rest = fmod(a, b);
  T quotient = (a - rest) / b;
  if (rest != T(0) && (b < T(0)) != (rest < T(0))) quotient -= T(1);
  if (quotient == T(0)) return copysign(T(0), a / b);
  const T whole = floor(quotient);
  return quotient - whole > T(0.5) ? whole + T(1) : whole;
}

template <class T> __device__ inline T nbautograd_remainder(T a, T b) {
  const T rest = fmod(a, b);
  if (b == T(0)) return rest;
  if (rest == T(0)) return copysign(T(0), b);
  return (b < T(0)) != (rest < T(0)) ? rest + b : rest;
}

template <class T> __device__ inline T nbautograd_floor_divide_integer(T a, T b) {
  if (b == T(0)) return T(0);
  if (b == T(-1)) return T(-1) < T(0) ? T(T(0) - a) : a / b;
  const T quotient = a / b;
  return (a % b != T(0)) && ((a < T(0)) != (b < T(0))) ? quotient - T(1) : quotient;
}

template <class T> __device__ inline T nbautograd_remainder_integer(T a, T b) {
  if (b == T(0) || (T(-1) < T(0) && b == T(-1))) return T(0);
  const T rest = a % b;
  return rest != T(0) && ((rest < T(0)) != (b < T(0))) ? rest + b : rest;
}

template <class T> __device__ inline T nbautograd_fmod_integer(T a, T b) {
  return b == T(0) || (T(-1) < T(0) && b == T(-1)) ? T(0) : T(a % b);
}

template <class T> __device__ inline T nbautograd_left_shift(T a, T n) {
  return n < T(0) || n >= T(8 * sizeof(T)) ? T(0) : T((unsigned long long)a << n);
}

template <class T> __device__ inline T nbautograd_right_shift(T a, T n) {
  return n < T(0) || n >= T(8 * sizeof(T)) ? (a < T(0) ? T(-1) : T(0)) : T(a >> n);
}

template <class T> __device__ inline T nbautograd_gcd(T a, T b) {
  a = a < T(0) ? -a : a;
  b = b < T(0) ? -b : b;
  while (b != T(0)) {
    const T rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

template <class T> __device__ inline T nbautograd_lcm(T a, T b) {
  a = a < T(0) ? -a : a;
  b = b < T(0) ? -b : b;
  T divisor = a;
  for (T other = b; other != T(0);) {
    const T rest = divisor % other;
    divisor = other;
    other = rest;
  }
  return divisor == T(0) ? T(0) : T(a / divisor * b);
}

template <class T> __device__ inline T nbautograd_logaddexp(T a, T b) {
  if (a == b) return a + T(0.6931471805599453);
  const T way = a - b;
  return way > T(0) ? a + log1p(exp(-way)) : way <= T(0) ? b + log1p(exp(way)) : way;
}

template <class T> __device__ inline T nbautograd_logaddexp2(T a, T b) {
  if (a == b) return a + T(1);
  const T way = a - b;
  const T log2e = T(1.4426950408889634);
  return way > T(0) ? a + log2e * log1p(exp2(-way)) : way <= T(0) ? b + log2e * log1p(exp2(way)) : way;
}
"""

HELPERS = {code[code.index("nbautograd_") :].partition("(")[0]: code + "\n" for code in _CODE.strip().split("\n\n")}
"""The code of each helper, by name."""
