#include "belfry/ops/queue.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/node.h"
#include "belfry/ops/internal/queue_components.h"

namespace belfry {

Attributes describe_components(const std::vector<TensorSpec>& components) {
  Attributes out{{"components", static_cast<std::int64_t>(components.size())}};
  for (std::size_t i = 0; i < components.size(); ++i) {
    out.set(fmt::format("dtype{}", i), components[i].dtype);
    out.set(fmt::format("name{}", i), components[i].name);
    out.set(fmt::format("shape{}", i), components[i].shape);
  }
  return out;
}

std::vector<TensorSpec> read_components(const Attributes& attributes) {
  std::vector<TensorSpec> out;
  for (std::int64_t i = 0; i < attributes.integer("components"); ++i)
    out.push_back({attributes.get<std::string>(fmt::format("name{}", i)),
                   attributes.get<DType>(fmt::format("dtype{}", i)), attributes.get<Shape>(fmt::format("shape{}", i))});
  return out;
}

namespace {

const OpRegistration queue_def =
    define_op("Queue")
        .output("size")
        .shape([](const ShapeContext& c) {
          const std::int64_t capacity = c.attributes().integer("capacity");
          BELFRY_CHECK(capacity >= 1, "expected a capacity of 1 or more, got {}", capacity);
          BELFRY_CHECK(c.attributes().integer("components") >= 1, "expected at least one component, got none");
          return Shape{};
        })
        .dtype(DType::i32)
        .stateful()
        .not_differentiable()
        .doc("A queue of datapoints, and how many are in it.");

// Input 0 says which queue; its value is not used.
const OpRegistration take_def =
    define_op("QueueTake")
        .input("queue")
        .output("components")
        .shape([](const ShapeContext& c) {
          Shapes out;
          for (const TensorSpec& spec : read_components(c.attributes())) out.push_back(spec.shape);
          return out;
        })
        .dtype([](const ShapeContext& c) {
          std::vector<DType> out;
          for (const TensorSpec& spec : read_components(c.attributes())) out.push_back(spec.dtype);
          return out;
        })
        .shape_only(0)
        .taken()
        .not_differentiable()
        .doc("The components of the datapoint that a run takes from a queue before it starts.");

const OpRegistration put_def = define_op("QueuePut")
                                   .input("queue")
                                   .inputs("components")
                                   .shape_only(0)
                                   .side_effect()
                                   .not_differentiable()
                                   .doc("Puts a copy of its inputs into a queue, as one datapoint.");

// The op has no output, so no shape rule could check this.
void check_components(const Node& queue, const Tensors& values, const Location& where) {
  const std::vector<TensorSpec> wanted = read_components(queue.attributes);
  BELFRY_CHECK(values.size() == wanted.size(), "[queue '{}'] expected {} components, got {} (at {}).", queue.name,
               wanted.size(), values.size(), to_string(where));
  for (std::size_t i = 0; i < wanted.size(); ++i)
    BELFRY_CHECK(values[i] && values[i].dtype() == wanted[i].dtype && compatible(values[i].shape(), wanted[i].shape),
                 "[queue '{}'] expected {} {} for component {} ('{}'), got {} (at {}).", queue.name,
                 name_of(wanted[i].dtype), to_string(wanted[i].shape), i, wanted[i].name, to_string(values[i]),
                 to_string(where));
}

}  // namespace

PointStore::PointStore(std::string_view name, std::vector<TensorSpec> components, int capacity, bool staging,
                       const Location& where)
    : components_(std::move(components)) {
  const LocationScope location(where);
  Attributes attributes = describe_components(components_);
  attributes.set("capacity", std::int64_t{capacity});
  attributes.set("staging", staging);
  node_ = add_op(queue_def, {}, {.name = name, .attributes = std::move(attributes)});
}

const std::string& PointStore::name() const { return node_->name; }

Tensors PointStore::take(std::string_view name, const Location& where) const {
  const LocationScope location(where);
  BELFRY_CHECK(current_graph().around() == nullptr,
               "[queue '{}'] expected to be taken from outside cond() and while_loop(), got a take inside one (at {}). "
               "Take before it; the tensors can be used inside.",
               node_->name, to_string(where));
  Node* node = add_op(take_def, {size()}, {.name = name, .attributes = describe_components(components_)});
  Tensors out;
  for (int i = 0; i < static_cast<int>(components_.size()); ++i) out.push_back(node->output(i));
  return out;
}

Operation PointStore::put(const Tensors& values, std::string_view name, const Location& where) const {
  const LocationScope location(where);
  BELFRY_CHECK(current_graph().around() == nullptr,
               "[queue '{}'] expected to be filled from outside cond() and while_loop(), got a put inside one (at {}). "
               "Return the values and put them outside.",
               node_->name, to_string(where));
  check_components(*node_, values, where);
  std::vector<Operand> inputs{size()};
  inputs.insert(inputs.end(), values.begin(), values.end());
  return Operation(add_op(put_def, inputs, {.name = name, .attributes = describe_components(components_)}));
}

Queue::Queue(std::string_view name, std::vector<TensorSpec> components, QueueOptions options, const Location& where)
    : PointStore(name, std::move(components), options.capacity, false, where) {}

StagingArea::StagingArea(std::string_view name, std::vector<TensorSpec> components, QueueOptions options,
                         const Location& where)
    : PointStore(name, std::move(components), options.capacity, true, where) {}

}  // namespace belfry
