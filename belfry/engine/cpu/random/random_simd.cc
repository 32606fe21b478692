#include "belfry/engine/cpu/random/random_simd.h"

#include "belfry/engine/cpu/random/philox.h"
#include "belfry/engine/cpu/vector/vmath.h"

namespace belfry::BELFRY_ISA {
namespace {

using simd::RandomArgs;
using simd::RandomSource;

// Makes the numbers of [begin, end) and calls use(first element, vector of numbers, how many of them count).
// shape(words) may turn the words of whole blocks into something else before they are put in order.
template <class Shape, class Use>
[[gnu::always_inline]] inline void generate(const RandomSource& source, std::int64_t begin, std::int64_t end,
                                            Shape shape, Use use) {
  for (std::int64_t i = begin; i < end; i += 4 * kWidth) {
    const std::uint64_t block = source.first_block + static_cast<std::uint64_t>(i) / 4;
    const Words words = in_order(shape(philox(source, block)));
    for (int w = 0; w < 4; ++w) {
      const std::int64_t at = i + w * kWidth, left = end - at;
      if (left > 0) use(at, words.word[w], left < kWidth ? left : kWidth);
    }
  }
}

constexpr auto kAsTheyAre = [](const Words& words) { return words; };

inline void store_some(float* to, Vec v, std::int64_t n) { n == kWidth ? store(to, v) : store_first(to, v, n); }
inline Vec upper_bits(UintVec bits) { return to_float((IntVec)(bits >> 8)); }  // 24 of them, exactly

void bits(const RandomSource& source, std::uint32_t* to, std::int64_t begin, std::int64_t end) {
  generate(source, begin, end, kAsTheyAre, [=](std::int64_t at, UintVec number, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) to[at + i] = number[i];
  });
}

// low + range u, u = upper bits / 2^24 in [0, 1)
void uniform(const RandomArgs& args, std::int64_t begin, std::int64_t end) {
  const Vec low = splat(args.first), range = splat(args.second), largest = splat(args.largest);
  generate(args.source, begin, end, kAsTheyAre, [&](std::int64_t at, UintVec number, std::int64_t n) {
    const Vec u = upper_bits(number) * 0x1p-24f;
    store_some(args.to + at, smaller(largest, fma(range, u, low)), n);
  });
}

// Box and Muller: radius sqrt(-2 log u), u in (0, 1], from one word; angle from all 32 bits of the other.
inline void normal_pair(UintVec& first, UintVec& second) {
  const Vec u = (upper_bits(first) + 1.f) * 0x1p-24f;
  const Vec radius = sqrt(-2.f * log(u));
  const IntVec quadrant = (IntVec)((second + 0x20000000u) >> 30);  // to the nearest quarter turn ...
  const Vec rest = to_float(((IntVec)(second << 2)) >> 2);         // ... and from there, in 2^-30 quarter turns
  const Vec angle = rest * 0x1.921fb6p-30f;
  first = (UintVec)(radius * sin_of_quadrant(angle, quadrant + 1));
  second = (UintVec)(radius * sin_of_quadrant(angle, quadrant));
}

void normal(const RandomArgs& args, std::int64_t begin, std::int64_t end) {
  const Vec mean = splat(args.first), deviation = splat(args.second);
  const auto pairs = [](Words words) {
    normal_pair(words.word[0], words.word[1]);
    normal_pair(words.word[2], words.word[3]);
    return words;
  };
  generate(args.source, begin, end, pairs, [&](std::int64_t at, UintVec number, std::int64_t n) {
    store_some(args.to + at, fma(deviation, (Vec)number, mean), n);
  });
}

// A normal number given that it lies within two deviations, by inverting the distribution function:
// z = sqrt(2) erf^-1(x) for x uniform in +-erf(sqrt(2)).
void truncated_normal(const RandomArgs& args, std::int64_t begin, std::int64_t end) {
  const Vec mean = splat(args.first), deviation = splat(args.second);
  generate(args.source, begin, end, kAsTheyAre, [&](std::int64_t at, UintVec number, std::int64_t n) {
    const IntVec odd = (IntVec)((number >> 8) * 2 + 1) - (1 << 24);  // symmetric about 0, never 0
    const Vec x = to_float(odd) * (0x1p-24f * 0.954499736f);
    const Vec w = negate(log(fma(negate(x), x, splat(1.f))));
    // z / x in w = -log(1 - x^2)
    const Vec z = x * polynomial(w, 0x1.40d932p+0f, 0x1.4ffe3p-2f, 0x1.0b742ep-6f, -0x1.ad7576p-9f, -0x1.c5345ap-13f,
                                 0x1.7d4a28p-14f, -0x1.ad4caep-18f);
    store_some(args.to + at, fma(deviation, z, mean), n);
  });
}

void dropout(const simd::DropoutArgs& args, std::int64_t begin, std::int64_t end) {
  generate(args.source, begin, end, kAsTheyAre, [&](std::int64_t at, UintVec number, std::int64_t n) {
    const Vec x = n == kWidth ? load(args.x + at) : load_first(args.x + at, n);
    store_some(args.y + at, select((IntVec)(number >> 8) < args.threshold, x * args.scale, Vec{}), n);
  });
}

}  // namespace

const simd::RandomKernels kRandom = {bits, uniform, normal, truncated_normal, dropout};

}  // namespace belfry::BELFRY_ISA
