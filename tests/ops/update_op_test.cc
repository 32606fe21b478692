// What all updates of variables share, and the norms of LARS and LAMB over rows.
#include "belfry/ops/internal/update_op.h"

#include "belfry/engine/cpu/kernel/kernel.h"
#include "belfry/ops/adaptive_optimizers.h"
#include "belfry/ops/gather.h"
#include "belfry/ops/layerwise_optimizers.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

class UpdateOpTest : public OpTest {
 protected:
  static Variable variable(const std::string& name, const Shape& shape, DType dtype = f32, double value = 0) {
    return get_variable(name, {.shape = shape, .dtype = dtype, .initializer = [value](const Shape& s, DType d) {
                                 Array out(d, s);
                                 for (std::int64_t i = 0; i < out.elements(); ++i)
                                   out.set_item(i, value * static_cast<double>(i % 7 - 2));
                                 return constant(out);
                               }});
  }
  static void has(const std::string& text, const char* part) { EXPECT_NE(text.find(part), std::string::npos) << text; }
};

TEST_F(UpdateOpTest, EveryUpdateTakesAnyLayoutWritesASecondOneAndMultipliesItsGradient) {
  int updates = 0;
  for (const OpDef* op : registered_ops()) {
    if (!op->name.starts_with("Apply")) continue;
    const KernelDef* kernel = find_kernel(op->kind);
    ASSERT_NE(kernel, nullptr) << op->name;
    EXPECT_TRUE(kernel->takes_scale) << op->name;
    EXPECT_FALSE(op->differentiable) << op->name;
    if (op->name.ends_with("Rows")) continue;
    ++updates;
    EXPECT_NE(find_op(op->name + "Rows"), nullptr) << op->name;
    EXPECT_TRUE(kernel->layouts == KernelDef::Layouts::blind && kernel->zero_stays_zero) << op->name;
    EXPECT_TRUE(static_cast<bool>(kernel->writes_copy)) << op->name;
  }
  EXPECT_EQ(updates, 11);
}

// The rows that are looked up are, to the rule, a variable of their own.
TEST_F(UpdateOpTest, NormsOfRowsAreOverTheseRows) {
  for (const DType dtype : {f32, f64})
    for (const DType id_type : {i32, i64})
      for (const bool is_lamb : {false, true}) {
        Graph own;
        const GraphScope inside(own);
        const Variable table = variable("table", {6, 5}, dtype, 0.5), alone = variable("alone", {2, 5}, dtype);
        const Tensor step = placeholder(f32, {}), g = placeholder(dtype, {2, 5});
        const SparseRows rows{constant(Array::of<std::int32_t>({3}, {1, 4, -1}).cast(id_type)),
                              placeholder(dtype, {3, 5}), table};
        const auto slot = [&](const char* name, const Shape& shape) { return variable(name, shape, dtype); };
        Tensor by_rows, whole;
        if (is_lamb) {
          const LambUpdate rule{.weight_decay = 0.1};
          by_rows = apply_lamb_rows(table, {slot("m", {6, 5}), slot("v", {6, 5})}, step, 0.25f, rows, rule);
          whole = apply_lamb(alone, {slot("m2", {2, 5}), slot("v2", {2, 5})}, step, 0.25f, g, rule);
        } else {
          const LarsUpdate rule{.trust_coefficient = 0.5, .weight_decay = 0.1};
          by_rows = apply_lars_rows(table, slot("s", {6, 5}), 0.25f, rows, rule);
          whole = apply_lars(alone, slot("s2", {2, 5}), 0.25f, g, rule);
        }
        Session session(own);
        session.initialize();
        const Tensor looked_up = gather(table, constant(Array::of<std::int32_t>({2}, {1, 4})));
        session.set_value(alone, session.run(looked_up));
        const Array before = session.value(table);
        for (int i = 1; i <= 3; ++i) {
          Array some(dtype, {3, 5}), all(dtype, {2, 5});
          for (std::int64_t k = 0; k < 15; ++k) some.set_item(k, k < 10 ? 0.1 * static_cast<double>(k) - 0.2 * i : 99);
          for (std::int64_t k = 0; k < 10; ++k) all.set_item(k, some.item(k));
          session.run(by_rows, {{rows.rows, some}, {step, static_cast<float>(i)}});
          session.run(whole, {{g, all}, {step, static_cast<float>(i)}});
        }
        const Array after = session.run(looked_up), expected = session.value(alone), now = session.value(table);
        for (std::int64_t k = 0; k < 10; ++k)
          ASSERT_NEAR(after.item(k), expected.item(k), dtype == f64 ? 1e-13 : 1e-6) << k;
        for (const std::int64_t row : {0, 2, 3, 5})
          for (std::int64_t k = row * 5; k < row * 5 + 5; ++k) ASSERT_EQ(now.item(k), before.item(k)) << k;
      }
}

TEST_F(UpdateOpTest, MistakesAreFoundWhenTheUpdateIsMade) {
  const Variable w = variable("w", {2}), other = variable("other", {3}), table = variable("table", {6, 4});
  const Tensor g = constant(counting({2}));
  has(error_of([&] { apply_adagrad(w, other, 0.5f, g, {}, "update"); }),
      "[ApplyAdagrad 'update'] expected a sum of the variable's f32 [2], got f32 [3]");
  has(error_of([&] { apply_rmsprop(w, {.mean_square = other}, 0.5f, g); }),
      "expected a mean_square of the variable's f32 [2], got f32 [3]");
  has(error_of([&] { apply_rmsprop(w, {.mean_square = w, .mean_gradient = other}, 0.5f, g); }),
      "expected a mean_gradient of the variable's f32 [2], got f32 [3]");
  has(error_of([&] { apply_rmsprop(w, {.mean_square = w, .accumulator = other}, 0.5f, g); }),
      "expected an accumulator of the variable's f32 [2], got f32 [3]");
  has(error_of([&] { apply_adadelta(w, {w, other}, 0.5f, g); }),
      "expected a mean_square_delta of the variable's f32 [2], got f32 [3]");
  has(error_of([&] { apply_lamb(w, {w, w}, constant(1), 0.5f, g); }), "expected a step that is a single float, got i32 []");
  has(error_of([&] { apply_lars(w, w, 0.5f, constant(counting({3})), {}, "update"); }),
      "[ApplyLars 'update'] expected a gradient of the variable's f32 [2], got f32 [3]");
  const Tensor ids = placeholder(i32, {3});
  const std::string text =
      error_of([&] { apply_lars_rows(table, table, 1.f, {ids, placeholder(f32, {3, 5}), table}); });
  has(text, "expected rows of the table's f32 [3, 4], got f32 [3, 5]");
  has(text, "update_op_test.cc:");
}

}  // namespace
}  // namespace belfry
