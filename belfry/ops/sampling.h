// Draws from distributions that tensors describe. As in random.h an element is a pure function of (graph seed, op seed,
// step, index), the same whatever the number of threads.
#pragma once

#include <string_view>

#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

struct BernoulliOptions {
  DType dtype = DType::f32;
};
// 1 with the probability that each element gives, else 0; bernoulli(fill({3, 4}, 0.2)) for one probability.
Tensor bernoulli(const Operand& probabilities, const BernoulliOptions& options = {}, std::string_view name = "");

// Classes (i64) drawn from softmax(logits): logits [..., classes] give [..., samples]. Logits of a row that are all
// -infinity, or one that is NaN or +infinity, end the run with a NumericError.
Tensor categorical(const Operand& logits, std::int64_t samples, std::string_view name = "");

struct SampleOptions {
  // What logits are divided by: below 1, likely classes become likelier. 0 takes the largest logit.
  Operand temperature = 1.f;
  std::int64_t top_k = 0;  // only the k largest logits, and ties with the last of them; 0: all
  // Only the fewest classes that together have this share of the probability, likeliest first, and ties with the last.
  Operand top_p = 1.f;
};
// A class (i64) for each vector along the last axis, drawn from the classes that the options keep: logits [...,
// classes] give [...]. temperature and top_p may be scalars of the graph, of the type of the logits; values below 0
// then count as 0, which draws among equal largest logits.
Tensor sample_class(const Operand& logits, const SampleOptions& options = {}, std::string_view name = "");

// The entries along the first axis in random order. A gradient goes back to where its entry came from.
Tensor random_shuffle(const Operand& x, std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
