// The rules of optimizer.h on one vector of weights, for both floats and doubles. A rule returns the new weights and
// updates its slots; `slots` says how many of them it has.
#pragma once

#include "belfry/engine/cpu/optimizer/optimizer_simd.h"
#include "belfry/engine/cpu/vector/double_lanes.h"

namespace belfry::BELFRY_ISA {
namespace {

using simd::UpdateStep;

template <class T> using LanesOf = decltype(splat(T{}));
template <class T> constexpr std::int64_t kLanesOf = sizeof(LanesOf<T>) / sizeof(T);

template <class T>
LanesOf<T> spread(double x) {
  return splat(static_cast<T>(x));
}

// With epsilon 0 the smallest normal number keeps 0 / 0 of untouched and padding elements at 0.
inline Vec divisor(Vec x) { return larger(splat(0x1p-126f), x); }
inline DoubleVec divisor(DoubleVec x) { return larger(splat(0x1p-1022), x); }

// b2 s + (1 - b2) x^2
template <class T>
struct MeanSquare {
  using V = LanesOf<T>;
  explicit MeanSquare(const UpdateStep& step) : beta(spread<T>(step.beta2)), rest(spread<T>(step.rest2)) {}
  V operator()(V s, V x) const { return fma(beta, s, rest * x * x); }
  V beta, rest;
};

template <class T>
struct Sgd {
  using V = LanesOf<T>;
  static constexpr int slots = 0;
  explicit Sgd(const UpdateStep& step) : minus_rate(spread<T>(-step.learning_rate)) {}
  V operator()(V w, V g, V*) const { return fma(minus_rate, g, w); }
  V minus_rate;
};

template <class T, bool kNesterov>
struct Momentum {
  using V = LanesOf<T>;
  static constexpr int slots = 1;
  explicit Momentum(const UpdateStep& step)
      : minus_rate(spread<T>(-step.learning_rate)), mu(spread<T>(step.momentum)) {}
  V operator()(V w, V g, V* v) const {
    v[0] = fma(mu, v[0], g);
    return fma(minus_rate, kNesterov ? fma(mu, v[0], g) : v[0], w);
  }
  V minus_rate, mu;
};

template <class T>
struct Adam {
  using V = LanesOf<T>;
  static constexpr int slots = 2;
  explicit Adam(const UpdateStep& step)
      : minus_rate(spread<T>(-step.learning_rate)),
        beta1(spread<T>(step.beta1)),
        rest1(spread<T>(step.rest1)),
        square(step),
        epsilon(spread<T>(step.epsilon)),
        correction(spread<T>(step.second_moment_scale)) {}
  V ratio(V g, V* s) const {
    s[0] = fma(beta1, s[0], rest1 * g);
    s[1] = square(s[1], g);
    return s[0] / divisor(fma(sqrt(s[1]), correction, epsilon));
  }
  V operator()(V w, V g, V* s) const { return fma(minus_rate, ratio(g, s), w); }
  V minus_rate, beta1, rest1;
  MeanSquare<T> square;
  V epsilon, correction;
};

template <class T, bool kCentered, bool kMomentum>
struct RmsProp {
  using V = LanesOf<T>;
  static constexpr int slots = 1 + kCentered + kMomentum;
  explicit RmsProp(const UpdateStep& step)
      : minus_rate(spread<T>(-step.learning_rate)),
        mu(spread<T>(step.momentum)),
        square(step),
        epsilon(spread<T>(step.epsilon)) {}
  V operator()(V w, V g, V* s) const {
    s[0] = square(s[0], g);
    V variance = s[0];
    if constexpr (kCentered) {
      s[1] = fma(square.beta, s[1], square.rest * g);
      variance = larger(V{}, fma(-s[1], s[1], variance));  // rounding may leave less than 0; a NaN stays
    }
    const V ratio = g / divisor(sqrt(variance) + epsilon);
    if constexpr (!kMomentum) return fma(minus_rate, ratio, w);
    V& velocity = s[slots - 1];
    velocity = fma(mu, velocity, ratio);
    return fma(minus_rate, velocity, w);
  }
  V minus_rate, mu;
  MeanSquare<T> square;
  V epsilon;
};

template <class T>
struct Adagrad {
  using V = LanesOf<T>;
  static constexpr int slots = 1;
  explicit Adagrad(const UpdateStep& step)
      : minus_rate(spread<T>(-step.learning_rate)), epsilon(spread<T>(step.epsilon)) {}
  V operator()(V w, V g, V* s) const {
    s[0] = fma(g, g, s[0]);
    return fma(minus_rate, g / divisor(sqrt(s[0]) + epsilon), w);
  }
  V minus_rate, epsilon;
};

template <class T>
struct Adadelta {
  using V = LanesOf<T>;
  static constexpr int slots = 2;
  explicit Adadelta(const UpdateStep& step)
      : minus_rate(spread<T>(-step.learning_rate)), square(step), epsilon(spread<T>(step.epsilon)) {}
  V operator()(V w, V g, V* s) const {
    s[0] = square(s[0], g);
    const V delta = g * (sqrt(s[1] + epsilon) / divisor(sqrt(s[0] + epsilon)));
    s[1] = square(s[1], delta);
    return fma(minus_rate, delta, w);
  }
  V minus_rate;
  MeanSquare<T> square;
  V epsilon;
};

template <class T>
struct Lars {
  using V = LanesOf<T>;
  static constexpr int slots = 1;
  explicit Lars(const UpdateStep& step)
      : rate(spread<T>(step.learning_rate)), mu(spread<T>(step.momentum)), decay(spread<T>(step.direction_decay)) {}
  V direction(V, V g, V*) const { return g; }
  V operator()(V w, V g, V* v) const {
    v[0] = fma(mu, v[0], rate * fma(decay, w, g));
    return w - v[0];
  }
  V rate, mu, decay;
};

template <class T>
struct Lamb {
  using V = LanesOf<T>;
  static constexpr int slots = 2;
  explicit Lamb(const UpdateStep& step)
      : adam(step), scale(spread<T>(step.first_moment_scale)), decay(spread<T>(step.direction_decay)) {}
  V direction(V w, V g, V* s) const { return fma(decay, w, scale * adam.ratio(g, s)); }
  V operator()(V w, V g, V* s) const { return fma(adam.minus_rate, direction(w, g, s), w); }
  Adam<T> adam;
  V scale, decay;
};

// The gradient that a rule sees, and the weights that it moves. The product with the scale is rounded before anything
// is added, exactly as if the update were given the product: which of the two happens depends on the device, and copies
// of a variable on several devices must stay equal. As the addend of an fma the product cannot be contracted.
template <class T>
struct UpdateOperands {
  using V = LanesOf<T>;
  explicit UpdateOperands(const UpdateStep& step)
      : scale(spread<T>(step.gradient_scale)),
        decay(spread<T>(step.weight_decay)),
        keep(spread<T>(1 - step.decoupled_decay)) {}
  V gradient(V w, V g) const { return fma(decay, w, scale * g); }
  V weights(V w) const { return w * keep; }
  V scale, decay, keep;
};

}  // namespace
}  // namespace belfry::BELFRY_ISA
