// Variable: a value that a session keeps between runs.
//
// Within one run every read sees the value the variable had when the run started, unless an assignment comes before
// the read on a data or control path. Two assignments of one variable in one run must be ordered by such a path.
// So `v + 1.f` uses the old value or, made under ControlDependencies({v.assign(x)}), the new one.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

class Variable;
// Makes the initial value, as graph ops, when the variable is created. It may use variables that exist already: they
// are initialised first.
using Initializer = std::function<Tensor(const Shape& shape, DType dtype)>;
// A scalar cost of a variable.
using Regularizer = std::function<Tensor(const Tensor& value)>;

class Variable {
 public:
  Variable() = default;
  explicit Variable(Node* node) : handle_(node, 0), value_(handle_) {}
  // The same variable seen through another tensor, for getters that freeze or remap.
  Variable with_value(const Tensor& value) const;

  explicit operator bool() const { return static_cast<bool>(handle_); }
  bool operator==(const Variable& other) const { return handle_ == other.handle_; }

  const std::string& name() const;
  const Shape& shape() const { return handle_.shape(); }
  DType dtype() const { return handle_.dtype(); }
  bool trainable() const;
  Tensor initial_value() const;

  Tensor value() const { return value_; }  // as of the start of the run
  // A new read, after the ControlDependencies that are active.
  Tensor read(const Location& where = Location::current()) const;
  // The variable as an operand or a tensor: value(), or a read() if an assignment of it is among the active
  // ControlDependencies or what these depend on. (If a getter has remapped the variable: always value().)
  Tensor value_here(const Location& where = Location::current()) const;
  operator Tensor() const;  // NOLINT(google-explicit-constructor)
  Tensor handle() const { return handle_; }

  // Each gives the new value.
  Tensor assign(const Operand& value) const;
  Tensor assign_add(const Operand& delta) const;
  Tensor assign_sub(const Operand& delta) const;

  Node* node() const { return handle_.node(); }

 private:
  Tensor handle_, value_;
};

std::string to_string(const Variable& variable);  // "'fc/W' f32 [784, 10]"

struct VariableRecord {
  Tensor initial_value;
  bool trainable = true;
  std::string tower_prefix{};  // of a tower with its own variables, if the name starts with it: "tower1"
};

struct VariableOptions {
  Shape shape{};
  DType dtype = DType::f32;
  Initializer initializer{};  // default: the scope's, else Glorot-uniform for floats of rank 2 or more, zeros otherwise
  bool trainable = true;
  Regularizer regularizer{};               // default: the scope's
  std::vector<std::string> collections{};  // besides TRAINABLE; default GLOBAL_VARIABLES
};

// Creates a variable under the current variable scope or, under reuse, finds it.
Variable get_variable(std::string_view name, const VariableOptions& options,
                      const Location& where = Location::current());
// Always a new variable with a name made unique, never trainable: state that belongs to one tower.
Variable new_variable(std::string_view name, VariableOptions options, const Location& where = Location::current());

}  // namespace belfry
#pragma GCC visibility pop
