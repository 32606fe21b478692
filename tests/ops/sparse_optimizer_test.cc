// A row that is looked up follows the dense rule; the others do not move, and neither do their slots.
#include "belfry/ops/sparse_optimizer.h"

#include <cmath>
#include <functional>
#include <map>

#include "tests/ops/op_test.h"
#include "tests/support/rounding.h"

namespace belfry {
namespace {

constexpr std::int64_t kRows = 6, kWidth = 21;  // a width that fills no whole number of vectors

// Ids of each step: sorted, padded with -1, some rows never, some again.
const std::vector<std::vector<std::int64_t>> kSteps{{1, 4, -1}, {4, -1, -1}, {0, 1, 4}, {-1, -1, -1}};

class SparseOptimizerTest : public OpTest {
 protected:
  static Variable variable(const char* name, DType dtype, double value) {
    return get_variable(name, {.shape = {kRows, kWidth},
                               .dtype = dtype,
                               .initializer = [value](const Shape& s, DType d) { return fill(s, value, d); }});
  }
  static double gradient_at(std::size_t step, std::int64_t row, std::int64_t column) {
    return 0.3 * static_cast<double>(step) - 0.7 + 0.1 * static_cast<double>(row) + 0.01 * static_cast<double>(column);
  }
  static Array rows_of(std::size_t step, DType dtype) {
    Array out(dtype, {3, kWidth});
    for (std::int64_t i = 0; i < out.elements(); ++i) {
      const std::int64_t row = kSteps[step][static_cast<std::size_t>(i / kWidth)];
      out.set_item(i, row < 0 ? 99 : gradient_at(step, row, i % kWidth));  // rows at -1 are not read
    }
    return out;
  }
  static Array ids_of(std::size_t step, DType dtype) {
    Array out(dtype, {3});
    for (std::int64_t i = 0; i < 3; ++i)
      out.set_item(i, static_cast<double>(kSteps[step][static_cast<std::size_t>(i)]));
    return out;
  }

  struct Element {
    double w = 1.5, slot0 = 0, slot1 = 0;
  };
  using Update = std::function<Tensor(const Variable& w, const SparseRows& g, const Tensor& step)>;
  using Rule = std::function<void(Element& e, double g, double step)>;

  static void compare(const Update& update, const Rule& rule) {
    for (const DType dtype : {f32, f64})
      for (const DType id_type : {i32, i64}) {
        Graph own;
        const GraphScope inside(own);
        const Variable w = variable("w", dtype, 1.5);
        const Tensor ids = placeholder(id_type, {3}), rows = placeholder(dtype, {3, kWidth}),
                     step = placeholder(f32, {});
        const Tensor updated = update(w, {ids, rows, w}, step);
        Session session(own);
        session.initialize();
        std::vector<Element> expected(kRows * kWidth);
        for (std::size_t s = 0; s < kSteps.size(); ++s) {
          for (const std::int64_t row : kSteps[s])
            for (std::int64_t i = 0; row >= 0 && i < kWidth; ++i)
              rule(expected[static_cast<std::size_t>(row * kWidth + i)], gradient_at(s, row, i),
                   static_cast<double>(s + 1));
          const Array out = session.run(
              updated, {{ids, ids_of(s, id_type)}, {rows, rows_of(s, dtype)}, {step, static_cast<float>(s + 1)}});
          for (std::int64_t i = 0; i < out.elements(); ++i) {
            // A dozen operations a step in f32; in f64 a dozen too, and rates that are given in f32.
            const double wanted = expected[static_cast<std::size_t>(i)].w, steps = static_cast<double>(s + 1);
            ASSERT_NEAR(out.item(i), wanted, rounding_bound((dtype == f64 ? 1 : 12) * steps, 1.5 + std::abs(wanted)))
                << "step " << s << ", element " << i;
          }
          for (std::int64_t i = 2 * kWidth; i < 4 * kWidth; ++i) ASSERT_EQ(out.item(i), 1.5) << "a row never looked up";
        }
      }
  }
};

TEST_F(SparseOptimizerTest, SgdMovesTheRowsThatWereLookedUp) {
  compare([](const Variable& w, const SparseRows& g,
             const Tensor&) { return apply_sgd_rows(w, 0.25f, g, {.weight_decay = 0.1}); },
          [](Element& e, double g, double) { e.w -= 0.25 * (g + 0.1 * e.w); });
}

TEST_F(SparseOptimizerTest, MomentumOfOtherRowsStandsStill) {
  for (const bool nesterov : {false, true})
    compare(
        [&](const Variable& w, const SparseRows& g, const Tensor&) {
          return apply_momentum_rows(w, variable("slot", w.dtype(), 0), 0.25f, g,
                                     {.momentum = 0.875, .nesterov = nesterov, .weight_decay = 0.1});
        },
        [&](Element& e, double g, double) {
          g += 0.1 * e.w;
          e.slot0 = 0.875 * e.slot0 + g;
          e.w -= 0.25 * (nesterov ? g + 0.875 * e.slot0 : e.slot0);
        });
}

TEST_F(SparseOptimizerTest, AdamsMeansOfOtherRowsStandStill) {
  compare(
      [](const Variable& w, const SparseRows& g, const Tensor& step) {
        return apply_adam_rows(w, {variable("m", w.dtype(), 0), variable("v", w.dtype(), 0)}, step, 0.25f, g,
                               {.beta1 = 0.8, .beta2 = 0.9, .epsilon = 1e-3, .weight_decay = 0.1});
      },
      [](Element& e, double g, double step) {
        g += 0.1 * e.w;
        e.slot0 = 0.8 * e.slot0 + 0.2 * g;
        e.slot1 = 0.9 * e.slot1 + 0.1 * g * g;
        e.w -= 0.25 / (1 - std::pow(0.8, step)) * e.slot0 /
               (std::sqrt(e.slot1) / std::sqrt(1 - std::pow(0.9, step)) + 1e-3);
      });
}

TEST_F(SparseOptimizerTest, AnIdOutsideOfTheTableEndsTheRunBeforeAnythingIsWritten) {
  const Variable w = variable("w", f32, 1);
  const Tensor ids = placeholder(i32, {2});
  const Tensor update = apply_sgd_rows(w, 1.f, {ids, constant(Array::full(f32, {2, kWidth}, 1)), w}, {}, "update");
  Session session(graph);
  session.initialize();
  const std::string text = error_of([&] { session.run(update, {{ids, Array::of<std::int32_t>({2}, {0, 6})}}); });
  EXPECT_NE(text.find("[ApplySgdRows 'update'] expected indices in [0, 6), got 6 at [1] of [2]"), std::string::npos)
      << text;
  EXPECT_EQ(session.value(w).item(0), 1);
  session.run(update, {{ids, Array::of<std::int32_t>({2}, {0, 5})}});
  EXPECT_EQ(session.value(w).item(0), 0);
}

TEST_F(SparseOptimizerTest, MistakesAreFoundWhenTheUpdateIsMade) {
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const Variable w = variable("w", f32, 1);
  const Tensor ids = placeholder(i32, {3}), rows = placeholder(f32, {3, kWidth});
  has(error_of([&] { apply_sgd_rows(w, 1.f, {ids, placeholder(f32, {3, 4}), w}); }),
      "expected rows of the table's f32 [3, 21], got f32 [3, 4]");
  has(error_of([&] { apply_sgd_rows(w, 1.f, {ids, placeholder(f64, {3, kWidth}), w}); }),
      "expected rows of the table's f32 [3, 21], got f64 [3, 21]");
  has(error_of([&] { apply_sgd_rows(w, 1.f, {placeholder(i32, {3, 1}), rows, w}); }),
      "expected ids of rank 1, got [3, 1]");
  has(error_of([&] { apply_sgd_rows(w, 1.f, {placeholder(f32, {3}), rows, w}); }),
      "expected ids of type i32 or i64, got f32. Use cast()");
  has(error_of([&] { apply_sgd_rows(w, ids, {ids, rows, w}); }), "expected a learning rate that is a single float");
  const Variable one = get_variable("one", {.shape = {3}});
  has(error_of([&] { apply_momentum_rows(w, one, 1.f, {ids, rows, w}); }),
      "expected an accumulator of the variable's f32 [6, 21], got f32 [3]");
}

}  // namespace
}  // namespace belfry
