// Gradients of every kind of cell in every form, against finite differences.
#include <map>
#include <memory>

#include "tests/nn/rnn_test_support.h"
#include "tests/ops/gradient_check.h"

namespace belfry {
namespace {

constexpr std::int64_t kTime = 3, kBatch = 2;

// Tensors from `first` on stand for the variables, in the order in which they are asked for.
CustomGetter instead_of_variables(const Tensors& tensors, std::size_t first) {
  const auto values = std::make_shared<std::map<std::string, Tensor>>();
  return [=](const VariableGetter& next, const std::string& name, const VariableOptions& options) {
    if (!values->contains(name)) values->emplace(name, tensors[first + values->size()]);
    return next(name, options).with_value(values->at(name));
  };
}

// The shapes of a cell's variables, in the order in which they are asked for.
ShapeList variable_shapes(const CellKind& kind) {
  Graph graph;
  const GraphScope scope(graph);
  const TrainTowerContext tower("");
  rnn(kind.make(), placeholder(f32, {kTime, kBatch, kFeatures}));
  ShapeList out;
  for (const Variable& v : graph.variables()) out.push_back(v.shape());
  return out;
}

// All that comes out, in one row, as a function of x, the initial state and the variables.
Maker maker_of(const CellKind& kind, const CellForm& form, const std::vector<std::int32_t>& lengths) {
  return [=](const Tensors& in) {
    const TrainTowerContext tower("");
    const RnnCell cell = kind.make();
    const std::size_t states = cell.state_sizes().size();
    const auto scope = VariableScope::reopen({.custom_getter = instead_of_variables(in, 1 + states)});
    RnnOptions options{.initial = Tensors(in.begin() + 1, in.begin() + 1 + static_cast<std::ptrdiff_t>(states))};
    if (!lengths.empty()) options.lengths = constant(Array::of<std::int32_t>({kBatch}, lengths));
    const RnnResult r = form.build(cell, in[0], options);
    std::vector<Operand> all{reshape(r.output, {kAny})};
    for (const Tensor& t : r.last) all.emplace_back(reshape(t, {kAny}));
    return concat(all, 0);
  };
}

void check(const CellKind& kind, const CellForm& form, const std::vector<std::int32_t>& lengths) {
  SCOPED_TRACE(kind.name + ", " + form.name + (!lengths.empty() ? ", lengths" : ""));
  ShapeList shapes{{kTime, kBatch, kFeatures}};
  const RnnCell cell = kind.make();
  for (const std::int64_t size : cell.state_sizes()) shapes.push_back({kBatch, size});
  for (const Shape& shape : variable_shapes(kind)) shapes.push_back(shape);
  check_gradient(maker_of(kind, form, lengths), shapes, {.unknown_dimensions = false});
}

void check_kinds(const std::vector<CellKind>& kinds) {
  for (const CellKind& kind : kinds) {
    check(kind, forms()[0], {});
    for (const CellForm& form : forms()) check(kind, form, {2, 3});
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(RnnGradients, AreThoseOfFiniteDifferencesForEveryKindOfCell) { check_kinds(cells_without_dropout()); }

TEST(RnnGradients, AreThoseOfFiniteDifferencesUnderDropout) { check_kinds(cells_with_dropout()); }

TEST(RnnGradients, AreThoseOfFiniteDifferencesInBothDirections) {
  const auto maker = [](const Tensors& in) {
    const Tensor lengths = constant(Array::of<std::int32_t>({kBatch}, {3, 1}));
    const auto scope = VariableScope::reopen({.custom_getter = instead_of_variables(in, 1)});
    return bidirectional(cell::gru("there", {.units = 2, .use_bias = false}),
                         cell::plain("back", {.units = 2, .use_bias = false}), in[0],
                         {.lengths = lengths, .batch_first = true})
        .output;
  };
  check_gradient(maker, {{kBatch, kTime, kFeatures}, {kFeatures, 6}, {2, 6}, {kFeatures, 2}, {2, 2}},
                 {.unknown_dimensions = false});
}

// Where a penalty on gradients is wanted: cells made of simple ops, in a loop too.
TEST(RnnGradients, OfCellsMadeOfSimpleOpsHaveGradients) {
  const CellKind plain{"plain", [] { return cell::plain("c", {.units = 2, .use_bias = false}); }};
  for (const CellForm& form : forms()) {
    SCOPED_TRACE(form.name);
    check_second_order(maker_of(plain, form, {}), {{2, 1, 3}, {1, 2}, {3, 2}, {2, 2}}, {.unknown_dimensions = false});
  }
}

}  // namespace
}  // namespace belfry
