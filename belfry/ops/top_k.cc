#include "belfry/ops/top_k.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/internal/input_checks.h"
#include "belfry/ops/pointwise.h"

namespace belfry {
namespace {

const OpRegistration argmax_def =
    define_op("ArgMax")
        .input("x")
        .output("index")
        .dtype(i64)
        .not_differentiable()
        .shape([](const ShapeContext& c) {
          const Shape& x = c.input(0);
          const auto axis = static_cast<int>(c.attributes().integer("axis"));
          BELFRY_CHECK(axis >= -x.rank() && axis < x.rank(), "expected an axis of {}, got {}", to_string(x), axis);
          BELFRY_CHECK(x[axis] != 0, "expected at least one element along axis {}, got {}", axis, to_string(x));
          return x.without(axis < 0 ? axis + x.rank() : axis);
        })
        .doc("The index of the largest element along an axis.");

const OpRegistration in_top_k_def =
    define_op("InTopK")
        .input("predictions")
        .input("targets")
        .output("in_top_k")
        .dtype(boolean)
        .not_differentiable()
        .shape([](const ShapeContext& c) {
          const Shape& predictions = c.input(0);
          check_float(c, 0, "predictions");
          check_label_type(c, 1, "targets");
          BELFRY_CHECK(predictions.rank() == 2, "expected predictions of shape [rows, classes], got {}",
                       to_string(predictions));
          const Shape rows = predictions.slice(0, 1);
          check_shape(c, 1, "targets", rows);
          BELFRY_CHECK(c.attributes().integer("k") >= 1, "expected k of 1 or more, got {}",
                       c.attributes().integer("k"));
          return merge(c.input(1), rows);
        })
        .doc("Whether the target's prediction is among the k largest of its row.");

}  // namespace

Tensor argmax(const Operand& x, int axis, std::string_view name) {
  return add_tensor(argmax_def, {x}, {.name = name, .attributes = {{"axis", static_cast<std::int64_t>(axis)}}});
}

Tensor in_top_k(const Operand& predictions, const Operand& targets, int k, std::string_view name) {
  return add_tensor(in_top_k_def, {predictions, targets},
                    {.name = name, .attributes = {{"k", static_cast<std::int64_t>(k)}}});
}

Tensor prediction_incorrect(const Operand& logits, const Operand& label, int topk, std::string_view name) {
  const LocationScope location(logits.where());
  return select(in_top_k(logits, label, topk), 0.f, 1.f, name);
}
Tensor prediction_incorrect(const Operand& logits, const Operand& label, std::string_view name) {
  return prediction_incorrect(logits, label, 1, name);
}

}  // namespace belfry
