// One loop for each pointwise operation, in a table in the order of PointwiseOp.
#pragma once

#include "belfry/engine/cpu/pointwise/pointwise_simd.h"
#include "belfry/engine/cpu/vector/row_loops.h"
#include "belfry/engine/cpu/vector/vmath.h"
#include "belfry/ops/activation_constants.h"

namespace belfry::BELFRY_ISA {
namespace {

// The sources and the number of an instruction; sources that it does not use may point anywhere.
struct Sources {
  const float *a, *b, *c;
  float value;
};
using PointwiseLoop = void (*)(float* to, const Sources&, std::int64_t n);

// F takes a Vec for each source it reads.
template <auto F>
void loop1(float* to, const Sources& s, std::int64_t n) {
  map_row(to, n, [](Vec a) { return F(a); }, s.a);
}
template <auto F>
void loop2(float* to, const Sources& s, std::int64_t n) {
  map_row(to, n, [](Vec a, Vec b) { return F(a, b); }, s.a, s.b);
}
template <auto F>
void loop3(float* to, const Sources& s, std::int64_t n) {
  map_row(to, n, [](Vec a, Vec b, Vec c) { return F(a, b, c); }, s.a, s.b, s.c);
}
// The number becomes the last argument.
template <auto F>
void loop1v(float* to, const Sources& s, std::int64_t n) {
  const Vec value = splat(s.value);
  map_row(to, n, [=](Vec a) { return F(a, value); }, s.a);
}
template <auto F>
void loop2v(float* to, const Sources& s, std::int64_t n) {
  const Vec value = splat(s.value);
  map_row(to, n, [=](Vec a, Vec b) { return F(a, b, value); }, s.a, s.b);
}

void fill_loop(float* to, const Sources& s, std::int64_t n) {
  const Vec value = splat(s.value);
  map_row(to, n, [=] { return value; });
}

inline Vec one_if(IntVec mask) { return select(mask, splat(1.f), Vec{}); }

constexpr auto kAdd = [](Vec a, Vec b) { return a + b; };
constexpr auto kMultiply = [](Vec a, Vec b) { return a * b; };
constexpr auto kMaximum = [](Vec a, Vec b) { return nan_max(a, b); };
constexpr auto kMinimum = [](Vec a, Vec b) { return nan_min(a, b); };
constexpr auto kPower = [](Vec a, Vec b) { return pow(a, b); };
constexpr auto kSign = [](Vec a) {
  const Vec one = select(a > 0.f, splat(1.f), splat(-1.f));
  return select((a > 0.f) | (a < 0.f), one, a);
};

constexpr auto kElu = [](Vec a) { return select(a > 0.f, a, expm1(a)); };
constexpr auto kSelu = [](Vec a) {
  constexpr auto scale = static_cast<float>(kSeluScale), low = static_cast<float>(kSeluScale * kSeluAlpha);
  return select(a > 0.f, a * scale, expm1(a) * low);
};
// By halves, since sigmoid(a) loses digits to underflow long before a sigmoid(a) does.
constexpr auto kSwish = [](Vec a) {
  const Vec half = exp(abs(a) * -0.5f);
  const IntVec positive = a >= 0.f;
  return select(positive, a, a * half) * (select(positive, splat(1.f), half) / fma(half, half, splat(1.f)));
};
// The remainder of a quotient that f32 can count is exact but for a quotient one too large at times, which the sign
// shows; the rest is left to libm.
constexpr auto kMod = [](Vec a, Vec b) {
  const Vec quotient = a / b, q = floor(quotient);
  Vec r = fma(negate(q), b, a);
  const IntVec counted = (abs(quotient) < 0x1p22f) & (abs(b) < __builtin_inff());
  if (any(~counted))
    for (int i = 0; i < kWidth; ++i)
      if (!counted[i]) r[i] = __builtin_fmodf(a[i], b[i]);
  return select(((r < 0.f) & (b > 0.f)) | ((r > 0.f) & (b < 0.f)), r + b, r);
};

constexpr PointwiseLoop kLoops[] = {
    fill_loop,
    loop1<[](Vec a) { return a; }>,
    loop2<kAdd>,
    loop2<[](Vec a, Vec b) { return a - b; }>,
    loop2<kMultiply>,
    loop2<[](Vec a, Vec b) { return a / b; }>,
    loop2<kMaximum>,
    loop2<kMinimum>,
    loop2<kPower>,
    loop3<[](Vec a, Vec b, Vec c) { return fma(a, b, c); }>,
    loop3<[](Vec a, Vec b, Vec c) { return select(c != 0.f, a, b); }>,
    loop2<[](Vec a, Vec b) { return one_if(a == b); }>,
    loop2<[](Vec a, Vec b) { return one_if(a != b); }>,
    loop2<[](Vec a, Vec b) { return one_if(a < b); }>,
    loop2<[](Vec a, Vec b) { return one_if(a <= b); }>,
    loop2<[](Vec a, Vec b) { return one_if(a > b); }>,
    loop2<[](Vec a, Vec b) { return one_if(a >= b); }>,
    loop1v<kAdd>,
    loop1v<kMultiply>,
    loop1v<[](Vec a, Vec value) { return value - a; }>,
    loop1v<[](Vec a, Vec value) { return value / a; }>,
    loop1v<kMaximum>,
    loop1v<kMinimum>,
    loop1v<kPower>,
    loop1<[](Vec a) { return negate(a); }>,
    loop1<[](Vec a) { return abs(a); }>,
    loop1<[](Vec a) { return a * a; }>,
    loop1<[](Vec a) { return sqrt(a); }>,
    loop1<[](Vec a) { return rsqrt(a); }>,
    loop1<[](Vec a) { return 1.f / a; }>,
    loop1<[](Vec a) { return exp(a); }>,
    loop1<[](Vec a) { return expm1(a); }>,
    loop1<[](Vec a) { return log(a); }>,
    loop1<[](Vec a) { return log1p(a); }>,
    loop1<[](Vec a) { return tanh(a); }>,
    loop1<[](Vec a) { return sigmoid(a); }>,
    loop1<[](Vec a) { return softplus(a); }>,
    loop1<[](Vec a) { return erf(a); }>,
    loop1<[](Vec a) { return gelu(a); }>,
    loop1<[](Vec a) { return gelu_slope(a); }>,
    loop2<[](Vec a, Vec b) { return a * gelu_slope(b); }>,
    loop1<[](Vec a) { return sin(a); }>,
    loop1<[](Vec a) { return cos(a); }>,
    loop1<kSign>,
    loop1<[](Vec a) { return floor(a); }>,
    loop1<[](Vec a) { return ceil(a); }>,
    loop1<[](Vec a) { return round(a); }>,
    loop1<[](Vec a) { return larger(Vec{}, a); }>,
    loop2<[](Vec a, Vec b) { return select(b > 0.f, a, Vec{}); }>,
    loop1v<[](Vec a, Vec slope) { return select(a > 0.f, a, a * slope); }>,
    loop2v<[](Vec a, Vec b, Vec slope) { return select(b > 0.f, a, a * slope); }>,
    loop1<kElu>,
    loop1<kSelu>,
    loop1<kSwish>,
    loop2<[](Vec a, Vec b) { return select(a > 0.f, a, a * b); }>,
    loop3<[](Vec a, Vec b, Vec c) { return nan_min(nan_max(a, b), c); }>,
    loop2<[](Vec a, Vec b) { return floor(a / b); }>,
    loop2<kMod>,
    loop1<[](Vec a) { return one_if(a == 0.f); }>,
    loop1<[](Vec a) { return one_if(a != a); }>,
    loop1<[](Vec a) { return one_if(abs(a) == __builtin_inff()); }>,
    loop1<[](Vec a) { return one_if(abs(a) < __builtin_inff()); }>,
};
static_assert(sizeof kLoops / sizeof kLoops[0] == static_cast<unsigned>(PointwiseOp::count));

}  // namespace
}  // namespace belfry::BELFRY_ISA
