#include <atomic>
#include <cmath>
#include <numeric>

#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/cpu/kernel/runtime_error.h"
#include "belfry/engine/cpu/random/random_draws.h"

namespace belfry {
namespace {

const KernelRegistration bernoulli_kernel = define_kernel("Bernoulli").make([](const KernelContext& c) {
  return make_for<Floats>(c, c.input(0).dtype, [&]<class T>() {
    return make_for<AllTypes>(c, c.output().dtype, [&]<class Y>() {
      return simple_kernel([n = c.output().elements(), seed = seed_attribute(c)](const Buffers& b, const Step& step) {
        for_each_block(n, [from = draws(step, seed), p = b.in<T>(0), y = b.out<Y>()](std::int64_t block,
                                                                                     std::int64_t at, int count) {
          const PhiloxBlock words = from.block(block);
          for (int i = 0; i < count; ++i)
            y[at + i] = static_cast<Y>(unit(words[static_cast<std::size_t>(i)]) < static_cast<double>(p[at + i]));
        });
      });
    });
  });
});

// logits [rows, classes] -> y [rows, samples]. `sums` [rows, classes] becomes the running sums of the probabilities, up
// to a factor; sample s takes the first class whose sum is above a random share of the last.
struct Categorical {
  std::int64_t rows = 0, classes = 0, samples = 0;

  template <class T>
  static bool running_sums(const T* logits, std::int64_t classes, double* sums) {
    const auto most = static_cast<double>(*std::max_element(logits, logits + classes));
    double sum = 0;
    for (std::int64_t i = 0; i < classes; ++i)
      sums[i] = sum += std::exp(static_cast<double>(logits[i]) - most);  // NaN if a logit is, or all are -infinity
    return std::isfinite(sum);
  }

  static std::int64_t choose(const double* sums, std::int64_t classes, double share) {
    const double* at = std::upper_bound(sums, sums + classes, share * sums[classes - 1]);
    // A share that rounds up to the total belongs to the last class with a probability above 0.
    if (at == sums + classes) at = std::lower_bound(sums, sums + classes, sums[classes - 1]);
    return at - sums;
  }

  // The first row that is not a distribution, or -1.
  template <class T>
  std::int64_t run(const Draws& from, const T* logits, double* sums, std::int64_t* y) const {
    std::atomic<std::int64_t> bad = rows;
    parallel_for(rows, std::max<std::int64_t>(2048 / classes, 1), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        double* own = sums + row * classes;
        if (!running_sums(logits + row * classes, classes, own)) {
          std::int64_t known = bad.load();
          while (row < known && !bad.compare_exchange_weak(known, row)) {
          }
          return;
        }
        for (std::int64_t s = 0; s < samples; ++s) {
          const std::int64_t i = row * samples + s;
          y[i] = choose(own, classes, fine_unit(from.block(i / 2), static_cast<int>(i % 2)));
        }
      }
    });
    return bad == rows ? -1 : bad.load();
  }
};

const KernelRegistration categorical_kernel = define_kernel("Categorical").make([](const KernelContext& c) {
  return make_for<Floats>(c, c.input(0).dtype, [&]<class T>() {
    const Shape& logits = c.input(0).shape;
    const Categorical draw{logits.slice(0, logits.rank() - 1).elements(), logits[-1], c.output().shape[-1]};
    return simple_kernel(
        [draw, seed = seed_attribute(c), origin = c.origin](const Buffers& b, const Step& step) {
          const std::int64_t bad =
              draw.run(draws(step, seed), b.in<T>(0), static_cast<double*>(b.scratch), b.out<std::int64_t>());
          if (bad >= 0)
            fail_numeric(origin,
                         fmt::format("expected finite logits, or -infinity for some classes, got none that give "
                                     "probabilities in row {} of {}",
                                     bad, draw.rows));
        },
        static_cast<std::size_t>(draw.rows * draw.classes) * sizeof(double));
  });
});

// Fisher and Yates: entry i changes places with one of the first i + 1.
const KernelRegistration permutation_kernel = define_kernel("RandomPermutation").make([](const KernelContext& c) {
  return simple_kernel([n = c.output().elements(), seed = seed_attribute(c)](const Buffers& b, const Step& step) {
    const Draws from = draws(step, seed);
    std::int64_t* y = b.out<std::int64_t>();
    std::iota(y, y + n, std::int64_t{0});
    for (std::int64_t i = n - 1; i > 0; --i) {
      const double share = fine_unit(from.block(i / 2), static_cast<int>(i % 2));
      std::swap(y[i], y[static_cast<std::int64_t>(share * static_cast<double>(i + 1))]);
    }
  });
});

}  // namespace
}  // namespace belfry
