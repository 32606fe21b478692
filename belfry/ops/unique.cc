#include "belfry/ops/unique.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/array_ops.h"

namespace belfry {
namespace {

const OpRegistration unique_def =
    define_op("UniqueWithCounts")
        .input("x")
        .output("values")
        .output("index")
        .output("counts")
        .output("size")
        .shape([](const ShapeContext& c) {
          BELFRY_CHECK(c.input(0).rank() == 1, "expected a vector, got {}. Use reshape()", to_string(c.input(0)));
          return Shapes{c.input(0), c.input(0), c.input(0), Shape{}};
        })
        .dtype([](const ShapeContext& c) { return std::vector{c.dtype(0), i64, i64, i64}; })
        .not_differentiable()
        .doc("The distinct elements of a vector, padded with zeros, and their counts.");

}  // namespace

UniqueCounts unique_with_counts(const Operand& x, std::string_view name) {
  Node* node = add_op(unique_def, {x}, {.name = name});
  return {{node, 0}, {node, 1}, {node, 2}, {node, 3}};
}

Tensor unique(const Operand& x, std::string_view name) {
  const LocationScope location(x.where());
  const UniqueCounts padded = unique_with_counts(x);
  return slice(padded.values, {0}, {padded.size}, name);
}

}  // namespace belfry
