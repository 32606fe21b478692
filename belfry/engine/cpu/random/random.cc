// Random numbers: element i takes word i % 4 of Philox block (i / 4, step), or the pair of words it belongs to.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/cpu/random/random_draws.h"
#include "belfry/engine/cpu/random/random_team.h"

namespace belfry {
namespace {

// Box and Muller's transform of the pair of words that lane (0 to 3) belongs to.
double normal(const PhiloxBlock& words, int lane) {
  const auto first = static_cast<std::size_t>(lane & 2);
  const double radius =
      std::sqrt(-2.0 * std::log((static_cast<double>(words[first]) + 1.0) * 0x1p-32));  // of a number in (0, 1]
  const double angle = 2.0 * std::numbers::pi * static_cast<double>(words[first + 1]) * 0x1p-32;
  return radius * ((lane & 1) == 0 ? std::cos(angle) : std::sin(angle));
}

// Attempt k reads the same place of a stream with another key.
double truncated(const Step& step, std::uint64_t seed, std::int64_t block, int lane) {
  for (std::uint64_t attempt = 0;; ++attempt) {
    const double value = normal(draws(step, attempt == 0 ? seed : mix_seed(seed, attempt)).block(block), lane);
    if (std::abs(value) <= 2.0) return value;
  }
}

template <class T>
void uniform(const Draws& from, std::int64_t elements, T low, T high, T* y) {
  const T last = std::max(low, std::nextafter(high, low));  // the sum may round up to `high`, which is excluded
  for_each_block(elements, [&](std::int64_t block, std::int64_t at, int count) {
    const PhiloxBlock words = from.block(block);
    for (int i = 0; i < count; ++i)
      y[at + i] = std::min(low + static_cast<T>(unit(words[static_cast<std::size_t>(i)])) * (high - low), last);
  });
}

// Keeps element i if its 24 bits are below the threshold; f32 uses the vectorised path, which draws the same numbers.
template <class T>
void dropout(const Draws& from, std::int64_t elements, double rate, const T* x, T* y) {
  if constexpr (std::is_same_v<T, float>) {
    apply_dropout(random_source(from.key, from.step),
                  {.x = x, .y = y, .n = elements, .rate = static_cast<float>(rate)});
    return;
  }
  const T scale = static_cast<T>(1.0 / (1.0 - rate));
  const auto threshold = static_cast<std::uint32_t>(std::llround((1.0 - rate) * 0x1p24));
  for_each_block(elements, [&](std::int64_t block, std::int64_t at, int count) {
    const PhiloxBlock words = from.block(block);
    for (int i = 0; i < count; ++i)
      y[at + i] = (words[static_cast<std::size_t>(i)] >> 8) < threshold ? x[at + i] * scale : T(0);
  });
}

struct Normal {
  double mean, stddev;
};
Normal normal_attributes(const KernelContext& c) {
  return {c.attributes->get<double>("mean"), c.attributes->get<double>("stddev")};
}

KernelPtr make_uniform(const KernelContext& c) {
  return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
    const T low = static_cast<T>(c.attributes->get<double>("low")),
            high = static_cast<T>(c.attributes->get<double>("high"));
    return simple_kernel(
        [n = c.output().elements(), seed = seed_attribute(c), low, high](const Buffers& b, const Step& step) {
          uniform(draws(step, seed), n, low, high, b.out<T>());
        });
  });
}
const KernelRegistration uniform_kernel = define_kernel("RandomUniform").make(make_uniform);
const KernelRegistration uniform_like_kernel = define_kernel("RandomUniformLike").make(make_uniform);

KernelPtr make_normal(const KernelContext& c) {
  return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
    return simple_kernel([n = c.output().elements(), seed = seed_attribute(c), p = normal_attributes(c)](
                             const Buffers& b, const Step& step) {
      for_each_block(n, [p, from = draws(step, seed), y = b.out<T>()](std::int64_t block, std::int64_t at, int count) {
        const PhiloxBlock words = from.block(block);
        for (int i = 0; i < count; ++i) y[at + i] = static_cast<T>(p.mean + p.stddev * normal(words, i));
      });
    });
  });
}
const KernelRegistration normal_kernel = define_kernel("RandomNormal").make(make_normal);
const KernelRegistration normal_like_kernel = define_kernel("RandomNormalLike").make(make_normal);

KernelPtr make_truncated(const KernelContext& c) {
  return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
    return simple_kernel([n = c.output().elements(), seed = seed_attribute(c), p = normal_attributes(c)](
                             const Buffers& b, const Step& step) {
      for_each_block(n, [&, y = b.out<T>()](std::int64_t block, std::int64_t at, int count) {
        for (int i = 0; i < count; ++i) y[at + i] = static_cast<T>(p.mean + p.stddev * truncated(step, seed, block, i));
      });
    });
  });
}
const KernelRegistration truncated_normal_kernel = define_kernel("TruncatedNormal").make(make_truncated);
const KernelRegistration truncated_normal_like_kernel = define_kernel("TruncatedNormalLike").make(make_truncated);

const KernelRegistration dropout_kernel = define_kernel("Dropout").in_place(0).make([](const KernelContext& c) {
  return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
    return simple_kernel(
        [n = c.output().elements(), seed = seed_attribute(c), rate = c.attributes->get<double>("rate")](
            const Buffers& b, const Step& step) { dropout(draws(step, seed), n, rate, b.in<T>(0), b.out<T>()); });
  });
});

}  // namespace
}  // namespace belfry
