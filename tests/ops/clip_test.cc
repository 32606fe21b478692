#include "belfry/ops/clip.h"

#include <cmath>

#include "belfry/graph/gradients.h"
#include "belfry/ops/gather.h"
#include "belfry/ops/optimizer.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"
#include "belfry/ops/sparse_optimizer.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

using X = const Tensors&;

const bool clip_rows[] = {
    gradient_row("SumSquares", {"SumSquares"}, [](X x) { return sum_squares(x[0]); }, {{{2, 3}}, {{}}, {{0, 3}}}),
    gradient_row("GlobalNorm", {"SumSquares"}, [](X x) { return global_norm({x[0], x[1]}); }, {{{2, 3}, {4}}}),
    gradient_row("ClipByGlobalNorm", {"SumSquares"},
                 [](X x) { return clip_by_global_norm({x[0], x[1]}, 0.5f).tensors[0]; }, {{{2, 3}, {4}}}),
};

class ClipTest : public OpTest {};

TEST_F(ClipTest, GlobalNormIsThatOfAllElementsTogether) {
  const Tensor a = input(Array::of<float>({2}, {3, 0})), b = input(Array::of<float>({1, 1}, {-4}));
  EXPECT_EQ(floats(global_norm({a, Tensor(), b})), (std::vector<float>{5}));
  EXPECT_EQ(floats(global_norm({input(Array(f32, {0, 4}))})), (std::vector<float>{0}));
}

TEST_F(ClipTest, AMillionElementsGiveTheSameBitsWhateverTheNumberOfThreads) {
  Array x(f32, {1000, 1003});
  double exact = 0;
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    const float v = static_cast<float>(i % 1009) / 1009.f - 0.3f;
    x.values<float>()[static_cast<std::size_t>(i)] = v;
    exact += static_cast<double>(v) * v;
  }
  const Tensor in = placeholder(f32, x.shape()), norm = global_norm({in});
  std::vector<float> got;
  for (int threads : {1, 2, 3})
    got.push_back(static_cast<float>(Session(graph, {.devices = {{threads}}}).run(norm, {{in, x}}).item()));
  EXPECT_NEAR(got[0], std::sqrt(exact), 1e-5 * std::sqrt(exact));
  EXPECT_EQ(got[0], got[1]);
  EXPECT_EQ(got[0], got[2]);
}

TEST_F(ClipTest, LargeGradientsAreScaledTogetherAndSmallOnesLeftAlone) {
  const Tensor a = input(Array::of<float>({2}, {3, 0})), b = input(Array::of<float>({1}, {-4}));
  const ClippedTensors clipped = clip_by_global_norm({a, Tensor(), b}, 2.5f);
  EXPECT_EQ(floats(clipped.norm), (std::vector<float>{5}));
  EXPECT_EQ(floats(clipped.tensors[0]), (std::vector<float>{1.5f, 0}));
  EXPECT_FALSE(clipped.tensors[1]);
  EXPECT_EQ(floats(clipped.tensors[2]), (std::vector<float>{-2}));
  EXPECT_EQ(floats(clip_by_global_norm({a, b}, 6.f).tensors[0]), (std::vector<float>{3, 0}));
  EXPECT_EQ(floats(clip_by_global_norm({a, b}, input(Array(10.f))).tensors[1]), (std::vector<float>{-4}));
}

TEST_F(ClipTest, ASparseGradientIsMeasuredByItsRowsAndStaysSparse) {
  const Tensor table = placeholder(f32, {1000, 2}), ids = constant(Array::of<std::int32_t>({3}, {7, 9, 7}));
  const Tensor g = gradients({reduce_sum(gather(table, ids))}, {table})[0];  // rows 7: 2 2, 9: 1 1
  const ClippedTensors clipped = clip_by_global_norm({g}, 0.5f);
  const Feeds feeds{{table, Array::zeros(f32, {1000, 2})}};
  EXPECT_NEAR(floats(clipped.norm, feeds)[0], std::sqrt(10.f), 1e-6);
  const auto sparse = as_sparse_rows(clipped.tensors[0]);
  ASSERT_TRUE(sparse);
  EXPECT_NEAR(floats(sparse->rows, feeds)[0], 2 * 0.5 / std::sqrt(10.0), 1e-6);  // row 7 is the first of the ids
  EXPECT_EQ(Session(graph).explain({clipped.norm, sparse->rows}, feeds).find("ScatterRows"), std::string::npos);
}

// The clipped gradient as the update sees it and as one that is fetched: the same numbers, and the same bits of the
// variable whether it is fetched or not.
TEST_F(ClipTest, UpdatesOfClippedGradientsDoNotDependOnWhoElseReadsThem) {
  const auto one_variable = [](const char* name, const Shape& shape) {
    return get_variable(name, {.shape = shape, .initializer = [](const Shape& s, DType d) { return fill(s, 0.3, d); }});
  };
  const Variable w = one_variable("w", {40, 3}), table = one_variable("table", {40, 3});
  const Tensor gw = tanh(input(counting({40, 3})) * 0.1f), ids = constant(Array::of<std::int32_t>({2}, {7, 9}));
  const Tensor gt = gradients({reduce_sum(square(gather(table, ids)))}, {table.handle()})[0];
  const ClippedTensors clipped = clip_by_global_norm({gw, gt}, 0.7f);
  const Operation update =
      group({apply_sgd(w, 0.1f, clipped.tensors[0], {.weight_decay = 0.01}),
             apply_sgd_rows(table, 0.1f, *as_sparse_rows(clipped.tensors[1]), {.weight_decay = 0.01})});
  const Feeds feeds{{gw.node()->inputs[0].node()->inputs[0], counting({40, 3})}};
  std::vector<Array> results;
  std::vector<float> gradient;
  for (const bool fetched : {false, true}) {
    Session session(graph);
    session.initialize();
    if (fetched) {
      const Array g = session.run(std::vector<Fetch>{clipped.tensors[0], clipped.tensors[1], update}, feeds)[0];
      gradient.assign(g.values<float>().begin(), g.values<float>().end());
    } else {
      EXPECT_EQ(session.explain({update}, feeds).find("FusedPointwise f32[40, 3]"), std::string::npos);
      session.run(update, feeds);
    }
    results.push_back(session.value(w));
    results.push_back(session.value(table));
  }
  for (std::size_t i = 0; i < 120; ++i) {
    EXPECT_EQ(results[0].values<float>()[i], results[2].values<float>()[i]);
    EXPECT_EQ(results[1].values<float>()[i], results[3].values<float>()[i]);
    EXPECT_NEAR(results[0].values<float>()[i], 0.3f - 0.1f * (gradient[i] + 0.01f * 0.3f), 1e-6);
    EXPECT_EQ(results[1].values<float>()[i] != 0.3f, i / 3 == 7 || i / 3 == 9) << i;
  }
}

TEST_F(ClipTest, MistakesAreNamed) {
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const Tensor x = placeholder(f32, {2});
  has(error_of([&] { global_norm({}); }), "[global_norm] expected at least one tensor, got none among 0 (at ");
  has(error_of([&] { global_norm({Tensor(), Tensor()}); }),
      "[global_norm] expected at least one tensor, got none among 2");
  has(error_of([&] { clip_by_global_norm({x}, 0.f); }), "[clip_by_global_norm] expected a norm above 0, got 0 (at ");
  has(error_of([&] { clip_by_global_norm({x}, 0.f); }), "clip_test.cc:");
  has(error_of([&] { sum_squares(placeholder(i32, {2})); }), "expected elements of f32 or f64, got i32. Use cast()");
}

}  // namespace
}  // namespace belfry
