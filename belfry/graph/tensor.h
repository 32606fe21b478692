// Tensor and Operation: light handles into a Graph, freely copied. They are valid as long as the graph lives;
// afterwards using one is an error.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/array/dtype.h"
#include "belfry/array/shape.h"
#include "belfry/graph/location.h"

#pragma GCC visibility push(default)
namespace belfry {

class Graph;
class Variable;
struct Node;

using GraphId = std::uint32_t;  // unique to each graph; 0: none

// What is known of a tensor before anything runs. Also the signature of an input: {"image", f32, {kAny, 28, 28, 1}}.
struct TensorSpec {
  std::string name;
  DType dtype = DType::f32;
  Shape shape{};
};

class Tensor {
 public:
  Tensor() = default;  // no tensor: what gradients() gives for an unconnected input
  Tensor(Node* node, int output);

  explicit operator bool() const { return node_ != nullptr; }
  bool operator==(const Tensor&) const = default;

  const Shape& shape() const;
  DType dtype() const;
  int rank() const { return shape().rank(); }
  // The operation's name for its first output ("conv0/output"), "name:1" for the second, and so on.
  std::string name() const;

  Node* node() const { return node_; }
  int output() const { return output_; }
  Graph& graph() const;
  GraphId graph_id() const { return graph_id_; }  // also when the graph is gone

 private:
  Node* node_ = nullptr;
  int output_ = 0;
  GraphId graph_id_ = 0;
};

using Tensors = std::vector<Tensor>;

class Operation {
 public:
  Operation() = default;
  explicit Operation(Node* node) : Operation(Tensor(node, 0)) {}
  Operation(const Tensor& tensor) : node_(tensor.node()), graph_id_(tensor.graph_id()) {}  // NOLINT

  explicit operator bool() const { return node_ != nullptr; }
  bool operator==(const Operation&) const = default;

  const std::string& name() const;
  const std::string& type() const;  // "Conv2D"
  Tensor output(int index = 0) const;
  int outputs() const;
  Node* node() const { return node_; }
  GraphId graph_id() const { return graph_id_; }  // also when the graph is gone

 private:
  Node* node_ = nullptr;
  GraphId graph_id_ = 0;
};

// For people to read: "'fc/output' f32 [?, 10]", and for an operation its inputs, its outputs and the line that made
// it.
std::string to_string(const Tensor& tensor);
std::string to_string(const Operation& operation);

// An argument of an op: a tensor, a variable, or a number that takes the other operand's type. Built implicitly at the
// call, so it also brings the caller's source line along.
class Operand {
 public:
  Operand(const Tensor& tensor, const Location& where = Location::current())
      : tensor_(tensor), where_(where) {}                                          // NOLINT
  Operand(const Variable& variable, const Location& where = Location::current());  // NOLINT
  Operand(float number, const Location& where = Location::current())
      : is_number_(true), number_(number), where_(where) {}  // NOLINT
  Operand(double number, const Location& where = Location::current())
      : is_number_(true), number_(number), where_(where) {}  // NOLINT
  Operand(int number, const Location& where = Location::current())
      : is_number_(true), number_(number), where_(where) {}  // NOLINT
  template <std::integral T>
    requires(!std::same_as<T, int> && !std::same_as<T, bool>)  // a bool is an int
  Operand(T number, const Location& where = Location::current())
      : Operand(static_cast<double>(number), where) {  // NOLINT
    if (number_ > 0x1p53 || number_ < -0x1p53) refuse_number();
  }

  bool is_number() const { return is_number_; }
  double number() const { return number_; }
  // The tensor; a number becomes a constant of `dtype` (f32 if the caller does not care).
  Tensor tensor(DType dtype = DType::f32) const;
  const Tensor& given() const { return tensor_; }  // empty if it is a number
  // The variable itself, if it is one: what an op that overwrites it takes.
  const Tensor& variable() const { return variable_; }
  const Location& where() const { return where_; }

 private:
  [[noreturn]] void refuse_number() const;

  Tensor tensor_;
  Tensor variable_;
  bool is_number_ = false;
  double number_ = 0;
  Location where_;
};

}  // namespace belfry
#pragma GCC visibility pop
