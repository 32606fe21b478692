#include "belfry/ops/internal/cross_tower.h"

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/internal/input_checks.h"

namespace belfry {
namespace {

CrossTowerGroup gradient_group(const Attributes& a) {
  return {.layer = a.get<std::string>("layer"),
          .name = a.get<std::string>("group") + "/gradient",
          .tower = static_cast<int>(a.integer("tower")),
          .total = static_cast<int>(a.integer("total"))};
}

// It has one input in the graph, and those of all towers when it runs. With S = sum_t x_t and the costs L_t of the
// towers, the gradient of sum_t L_t to each x_t is sum_t dL_t/dS.
const OpRegistration cross_tower_sum_def =
    define_op("CrossTowerSum")
        .inputs("x")
        .output("sum")
        .across_towers()
        .shape([](const ShapeContext& c) {
          Shape shape = c.input(0);
          check_one_float_type(c);
          for (int i = 1; i < c.inputs(); ++i) {
            BELFRY_CHECK(compatible(shape, c.input(i)), "expected one shape in all towers, got {} in tower 0, {} in {}",
                         to_string(c.input(0)), to_string(c.input(i)), i);
            shape = merge(shape, c.input(i));
          }
          return shape;
        })
        .gradient(
            [](const GradientContext& c) { return Tensors{cross_tower_sum(c.grad(), gradient_group(c.attributes()))}; })
        .doc("The sum of this op's inputs in all towers.");

// The group's name, or the first "name_k" that this tower has not used: so the k-th use in one tower meets the k-th in
// the others.
std::string unused_name(const Graph& graph, const CrossTowerGroup& group) {
  const auto used = [&](const std::string& name) {
    return std::ranges::any_of(graph.nodes(), [&](const auto& node) {
      return node->def == cross_tower_sum_def && node->attributes.integer("tower") == group.tower &&
             node->attributes.template get<std::string>("group") == name;
    });
  };
  std::string name = group.name;
  for (int k = 1; used(name); ++k) name = fmt::format("{}_{}", group.name, k);
  return name;
}

}  // namespace

Tensor cross_tower_sum(const Operand& x, CrossTowerGroup group, std::string_view name) {
  const Graph& graph = current_graph();
  BELFRY_CHECK(graph.around() == nullptr,
               "[{} '{}'] expected to be outside cond() and while_loop(), where all towers take part in every step, "
               "got it inside one (at {}). Move it out.",
               group.layer, group.name, to_string(current_location(x.where())));
  BELFRY_CHECK(group.total >= 1 && group.tower >= 0 && group.tower < group.total,
               "[{} '{}'] expected a tower from 0 to {}, got {} (at {}).", group.layer, group.name, group.total - 1,
               group.tower, to_string(current_location(x.where())));
  return add_tensor(cross_tower_sum_def, {x},
                    {.name = name,
                     .attributes = {{"layer", group.layer},
                                    {"group", unused_name(graph, group)},
                                    {"tower", static_cast<std::int64_t>(group.tower)},
                                    {"total", static_cast<std::int64_t>(group.total)}}});
}

}  // namespace belfry
