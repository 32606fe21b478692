// Updates of variables. Input 0 and output 0 are both the variable's own storage, and inputs that hold slots are the
// slots' own: kernels update all of them where they lie, slots through their input pointers. f32 is one vectorised
// pass, which also writes a second output: a copy of the variable in another layout.
#include <cmath>

#include "belfry/engine/cpu/fast_update.h"
#include "belfry/engine/cpu/kernel_dispatch.h"
#include "belfry/engine/cpu/strided_loop.h"
#include "belfry/engine/cpu/weight_copy.h"

namespace belfry {
namespace {

std::int64_t physical_elements(const TensorInfo& info) {
  return static_cast<std::int64_t>(info.bytes() / size_of(info.dtype));
}

KernelPtr make_fast(const KernelContext& c, FastUpdate u) {
  SecondCopy copy;
  const bool second = c.outputs.size() > 1 && describe_copy(c.output(0), c.output(1).layout, copy);
  return simple_kernel(
      [u = std::move(u), copy, second, n = physical_elements(c.output())](const Buffers& b, const Step&) {
        const UpdateBuffers buffers{.weights = b.out<float>(),
                                    .gradient = b.in<float>(u.gradient),
                                    .slot0 = u.slots > 0 ? slot<float>(b, 1) : nullptr,
                                    .slot1 = u.slots > 1 ? slot<float>(b, 2) : nullptr};
        if (!second) return apply_update(u.step(b), buffers, n);
        SecondCopy target = copy;
        target.data = b.out<float>(1);
        apply_update(u.step(b), buffers, target);
      });
}

KernelDefinition define_update(const char* op) {
  return define_kernel(op).layout_blind(true).writes_copy([](const TensorInfo& variable, const Layout& copy) {
    SecondCopy ignored;
    return variable.dtype == f32 && describe_copy(variable, copy, ignored);
  });
}

float decay_of(const KernelContext& c) { return static_cast<float>(c.attributes->get<double>("weight_decay")); }

}  // namespace

double scalar_input(const Buffers& b, int index, DType dtype) {
  return dtype == f64 ? *b.in<double>(index) : static_cast<double>(*b.in<float>(index));
}

FastUpdate fast_sgd(const KernelContext& c) {
  return {0, 2, [decay = decay_of(c), rate_type = c.input(1).dtype](const Buffers& b) {
            return UpdateStep{.rule = UpdateRule::sgd,
                              .learning_rate = static_cast<float>(scalar_input(b, 1, rate_type)),
                              .weight_decay = decay};
          }};
}

FastUpdate fast_momentum(const KernelContext& c) {
  const UpdateRule rule = c.attributes->flag("nesterov") ? UpdateRule::nesterov : UpdateRule::momentum;
  const float momentum = static_cast<float>(c.attributes->get<double>("momentum"));
  return {1, 3, [rule, momentum, decay = decay_of(c), rate_type = c.input(2).dtype](const Buffers& b) {
            return UpdateStep{.rule = rule,
                              .learning_rate = static_cast<float>(scalar_input(b, 2, rate_type)),
                              .weight_decay = decay,
                              .momentum = momentum};
          }};
}

FastUpdate fast_adam(const KernelContext& c) {
  AdamSettings settings{.beta1 = c.attributes->get<double>("beta1"),
                        .beta2 = c.attributes->get<double>("beta2"),
                        .epsilon = c.attributes->get<double>("epsilon")};
  return {
      2, 5,
      [settings, decay = decay_of(c), step_type = c.input(3).dtype, rate_type = c.input(4).dtype](const Buffers& b) {
        AdamSettings now = settings;
        now.learning_rate = scalar_input(b, 4, rate_type);
        UpdateStep step = adam_step(now, static_cast<std::int64_t>(scalar_input(b, 3, step_type)));
        step.weight_decay = decay;
        return step;
      }};
}

namespace {

const KernelRegistration sgd_kernel = define_update("ApplySgd").make([](const KernelContext& c) {
  if (c.output().dtype == f32) return make_fast(c, fast_sgd(c));
  return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
    const T decay = static_cast<T>(c.attributes->get<double>("weight_decay"));
    return simple_kernel(
        [decay, n = physical_elements(c.output()), rate_type = c.input(1).dtype](const Buffers& b, const Step&) {
          const T rate = static_cast<T>(scalar_input(b, 1, rate_type));
          const T* g = b.in<T>(2);
          T* w = b.out<T>();
          parallel_for(n, kPointwiseGrain, [=](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) w[i] -= rate * (g[i] + decay * w[i]);
          });
        });
  });
});

const KernelRegistration momentum_kernel = define_update("ApplyMomentum").make([](const KernelContext& c) {
  if (c.output().dtype == f32) return make_fast(c, fast_momentum(c));
  return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
    const T decay = static_cast<T>(c.attributes->get<double>("weight_decay"));
    const T momentum = static_cast<T>(c.attributes->get<double>("momentum"));
    const bool nesterov = c.attributes->flag("nesterov");
    return simple_kernel([decay, momentum, nesterov, n = physical_elements(c.output()), rate_type = c.input(2).dtype](
                             const Buffers& b, const Step&) {
      const T rate = static_cast<T>(scalar_input(b, 2, rate_type));
      const T* g = b.in<T>(3);
      T *w = b.out<T>(), *accumulator = slot<T>(b, 1);
      parallel_for(n, kPointwiseGrain, [=](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const T gradient = g[i] + decay * w[i];
          accumulator[i] = momentum * accumulator[i] + gradient;
          w[i] -= rate * (nesterov ? gradient + momentum * accumulator[i] : accumulator[i]);
        }
      });
    });
  });
});

struct AdamRule {
  double beta1, beta2, epsilon, weight_decay;
};

const KernelRegistration adam_kernel = define_update("ApplyAdam").make([](const KernelContext& c) {
  if (c.output().dtype == f32) return make_fast(c, fast_adam(c));
  return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
    const Attributes& a = *c.attributes;
    const AdamRule rule{a.get<double>("beta1"), a.get<double>("beta2"), a.get<double>("epsilon"),
                        a.get<double>("weight_decay")};
    return simple_kernel([rule, n = physical_elements(c.output()), step_type = c.input(3).dtype,
                          rate_type = c.input(4).dtype](const Buffers& b, const Step&) {
      const double step = scalar_input(b, 3, step_type);
      // The corrections are numbers of the whole update and stay in f64, as in PyTorch.
      const T size = static_cast<T>(scalar_input(b, 4, rate_type) / (1 - std::pow(rule.beta1, step)));
      const T root = static_cast<T>(std::sqrt(1 - std::pow(rule.beta2, step)));
      const T toward = static_cast<T>(1 - rule.beta1), keep = static_cast<T>(rule.beta2),
              mix = static_cast<T>(1 - rule.beta2);
      const T epsilon = static_cast<T>(rule.epsilon), decay = static_cast<T>(rule.weight_decay);
      const T* g = b.in<T>(5);
      T *w = b.out<T>(), *m = slot<T>(b, 1), *v = slot<T>(b, 2);
      parallel_for(n, kPointwiseGrain, [=](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const T gradient = g[i] + decay * w[i];
          m[i] += toward * (gradient - m[i]);
          v[i] = keep * v[i] + mix * gradient * gradient;
          w[i] -= size * (m[i] / (std::sqrt(v[i]) / root + epsilon));
        }
      });
    });
  });
});

}  // namespace
}  // namespace belfry
