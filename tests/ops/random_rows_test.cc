// A draw is a function of (seed, op, step, place): row r is the same however many rows a batch has, however many
// threads draw it, on which device, and in which stage of a run.
#include "belfry/ops/array_ops.h"
#include "belfry/ops/conv.h"
#include "belfry/ops/mask.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/random.h"
#include "belfry/ops/reduce.h"
#include "belfry/ops/sampling.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

constexpr std::int64_t kMost = 9;

class RandomRowsTest : public OpTest {
 protected:
  // Every random op, with a row for each of x.
  static std::vector<Fetch> draws(const Tensor& x) {
    const Tensor n = size_of(x, 0);
    const Tensor image = tile(reshape(x, {n, 1, 1, 3}), {1, 5, 5, 6}) + 1.f;  // 18 channels: blocks are not full
    const Tensor filter = constant(Array::full(f32, {3, 3, 18, 18}, 0.1));
    return {random_uniform({n, 5}),     random_normal({n, 3, 3}),   truncated_normal({n}),
            dropout(ones_like(x), 0.5), dropout(ones({n, 7}), 0.3), dropout(relu(conv2d(image, filter)), 0.5),
            bernoulli(sigmoid(x)),      categorical(x, 5)};
  }
  Array rows(std::int64_t n) const { return counting({n, 3}); }
  std::vector<Array> run(Session& session, const std::vector<Fetch>& fetches, std::int64_t n) const {
    return session.run(fetches, {{x, rows(n)}}, {.random_step = 11});
  }
  // That the rows of `some` are the first of `all`.
  static void expect_first_rows(const std::vector<Array>& some, const std::vector<Array>& all, std::int64_t n) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      ASSERT_EQ(some[i].shape()[0], n);
      ASSERT_EQ(some[i].elements() * kMost, all[i].elements() * n) << i;
      for (std::int64_t k = 0; k < some[i].elements(); ++k)
        ASSERT_EQ(some[i].item(k), all[i].item(k)) << "draw " << i << ", element " << k << " of " << n << " rows";
    }
  }

  Tensor x = placeholder(f32, {kAny, 3}, "x");
};

TEST_F(RandomRowsTest, AreTheSameWhateverTheBatchAndTheNumberOfThreads) {
  const std::vector<Fetch> fetches = draws(x);
  Session one(graph, {.devices = {{1}}}), two(graph, {.devices = {{2}}});
  const std::vector<Array> all = run(one, fetches, kMost);
  for (std::int64_t n : {4, 1, 0, 7, 9, 4}) {
    expect_first_rows(run(one, fetches, n), all, n);
    expect_first_rows(run(two, fetches, n), all, n);
  }
}

// A part after a cut, or on another device, draws the same numbers as the whole run.
TEST_F(RandomRowsTest, AreTheSameWhereverARunIsCut) {
  Session session(graph, {.devices = {{1}, {1}}});
  const auto make = [&](const std::string& device, const Tensor& of) {
    const DeviceScope scope(device);
    return std::vector<Fetch>{random_normal({size_of(of, 0), 5}, {.seed = 4}),
                              truncated_normal({size_of(of, 0)}, {.seed = 5})};
  };
  const Tensor kept = boolean_mask(x, reduce_sum(x, {.axes = {1}}) > -1.f);  // all of them
  const std::vector<Array> all = run(session, make("cpu:0", x), kMost);
  for (const std::vector<Fetch>& fetches : {make("cpu:1", x), make("cpu:0", kept), make("cpu:1", kept)})
    for (std::int64_t n : {4, 1, 0, 9}) expect_first_rows(run(session, fetches, n), all, n);
}

}  // namespace
}  // namespace belfry
