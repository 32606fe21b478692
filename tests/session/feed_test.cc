// Feeds are read where they lie.
#include <algorithm>

#include "belfry/ops/array_ops.h"
#include "belfry/ops/control_flow.h"
#include "belfry/ops/conv.h"
#include "belfry/ops/matmul.h"
#include "belfry/ops/reduce.h"
#include "tests/session/session_testing.h"

namespace belfry {
namespace {

using testing_support::GraphTest;

Array numbers(const Shape& shape, int start) {
  Array out(f32, shape);
  for (std::int64_t i = 0; i < out.elements(); ++i) out.set_item(i, static_cast<double>((start + i * 7) % 11) - 5);
  return out;
}

// Of the same values, but not aligned.
Array shifted(const Array& array) {
  auto memory = std::make_shared<std::vector<float>>(static_cast<std::size_t>(array.elements()) + 32);
  auto at = reinterpret_cast<std::uintptr_t>(memory->data());
  float* data = memory->data() + (at % 64 == 4 ? 2 : 1);
  std::ranges::copy(array.values<float>(), data);
  return Array(f32, array.shape(), data, memory);
}

class FeedTest : public GraphTest {};

TEST_F(FeedTest, EveryRunReadsItsOwnWhateverKernelReadsThem) {
  const Tensor x = placeholder({"x", f32, {kAny, 8}}), y = placeholder({"y", f32, {kAny, 8}});
  const Tensor image = reshape(x, {kAny, 2, 2, 2});
  const Tensor results[] = {
      relu(x),
      x * 2.f + y,
      matmul(x, y, {.transpose_b = true}),
      matmul(x, y, {.transpose_a = true}),
      conv2d(image, constant(numbers({1, 1, 2, 3}, 4))),
      reduce_sum(x, {.axes = {0}}),
      identity(x),
      cond(
          reduce_sum(y) > 0.f, [&] { return Tensors{x * 3.f}; }, [&] { return Tensors{x - y}; })[0],
  };
  std::vector<Fetch> fetches(std::begin(results), std::end(results));
  Session session(graph, {.devices = {{2}}});
  for (int i = 0; i < 6; ++i) {
    const Array a = numbers({512, 8}, i), b = numbers({512, 8}, i * 3 + 1);
    const bool aligned = i % 3 != 2;
    const auto given = session.run(fetches, {{x, aligned ? a : shifted(a)}, {y, b}});
    Session other(graph, {.devices = {{2}}});
    const auto wanted = other.run(fetches, {{x, a.clone()}, {y, b.clone()}});
    for (std::size_t k = 0; k < given.size(); ++k) EXPECT_TRUE(equal(given[k], wanted[k])) << i << " " << k;
    EXPECT_TRUE(equal(a, numbers({512, 8}, i)));  // nobody wrote into it
  }
}

TEST_F(FeedTest, WhatIsFetchedIsNotTheFeed) {
  const Tensor x = placeholder({"x", f32, {3}});
  Session session(graph);
  const Array fed = Array::of<float>({3}, {1, 2, 3});
  Array got = session.run(x, {{x, fed}});
  got.set_item(0, 9);
  EXPECT_EQ(fed.item(0), 1);
}

}  // namespace
}  // namespace belfry
