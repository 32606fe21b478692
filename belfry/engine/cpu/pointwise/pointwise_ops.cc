#include "belfry/engine/cpu/pointwise/pointwise_ops.h"

#include <span>
#include <unordered_map>

#include "belfry/base/check.h"
#include "belfry/engine/cpu/pointwise/pointwise_rows.h"

namespace belfry {
namespace {

struct Facts {
  std::string_view name;
  int sources = 0;
  ZeroIf zero_if = ZeroIf::never;
};

template <class... Row>
std::span<const Facts> facts_of(const pointwise_rows::PointwiseRows<Row...>& rows) {
  static const Facts facts[] = {
      {static_cast<const Row&>(rows).name, Row::sources, static_cast<const Row&>(rows).zero_if}...};
  return facts;
}

std::span<const Facts> facts() { return facts_of(pointwise_rows::kPointwiseRows); }

std::unordered_map<OpKind, PointwiseOp> numbers() {
  std::unordered_map<OpKind, PointwiseOp> out;
  for (const Facts& row : facts()) out.emplace(op_kind(row.name), static_cast<PointwiseOp>(out.size()));
  return out;
}

}  // namespace

std::optional<PointwiseOp> find_pointwise(OpKind op) {
  static const std::unordered_map<OpKind, PointwiseOp> by_kind = numbers();
  const auto at = by_kind.find(op);
  return at == by_kind.end() ? std::nullopt : std::optional(at->second);
}

PointwiseOp pointwise_op(std::string_view op) {
  const std::optional<PointwiseOp> found = find_pointwise(op_kind(op));
  BELFRY_BUG_IF(!found, "{} has no row among the pointwise ops", op);
  return *found;
}

int pointwise_op_count() { return static_cast<int>(facts().size()); }
int source_count(PointwiseOp op) { return facts()[static_cast<std::size_t>(op)].sources; }
ZeroIf zero_if(PointwiseOp op) { return facts()[static_cast<std::size_t>(op)].zero_if; }

}  // namespace belfry
