// The scopes under which ops are added: each a guard object, nested like blocks, one stack per thread.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/graph/device.h"
#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

struct ScopeState;  // everything the guards change; opaque

// Saves the thread's scope state and restores it: the base of the guards below.
class ScopeGuard {
 public:
  ScopeGuard(const ScopeGuard&) = delete;
  ScopeGuard& operator=(const ScopeGuard&) = delete;

 protected:
  ScopeGuard();
  ~ScopeGuard();
  ScopeState& state();

 private:
  std::unique_ptr<ScopeState> before_;
};

// Makes a graph current, with fresh scopes.
class GraphScope : private ScopeGuard {
 public:
  explicit GraphScope(Graph& graph);
};

// Makes a graph current where no GraphScope is open, for as long as it lives: what a trainer that owns its graph does,
// so that ops can be made in the constructors of classes derived from it. They may end in any order; the latest one
// alive counts.
class DefaultGraph {
 public:
  explicit DefaultGraph(Graph& graph);
  ~DefaultGraph();
  DefaultGraph(const DefaultGraph&) = delete;
  DefaultGraph& operator=(const DefaultGraph&) = delete;

 private:
  Graph& graph_;
};

// Inside cond() or while_loop(): adds to the outermost graph, free of control dependencies. Variables are made there.
class OutermostGraphScope : private ScopeGuard {
 public:
  OutermostGraphScope();
};

// Prefixes the names of ops (not of variables). Opening "block" a second time gives "block_1".
class NameScope : private ScopeGuard {
 public:
  explicit NameScope(std::string_view name, const Location& where = Location::current());
  // Enters a scope by its exact full name instead of opening a new one ("" is the root).
  static std::unique_ptr<NameScope> at(std::string_view full_name, const Location& where = Location::current());
  const std::string& name() const { return name_; }

 private:
  struct Exact {};
  NameScope(Exact, std::string_view full_name);
  std::string name_;
};

// Places ops on a device of the session, such as DeviceScope("cpu:1"). An empty device means the first one.
class DeviceScope : private ScopeGuard {
 public:
  explicit DeviceScope(const Device& device);
  // For helpers that work on each of several tensors: the tensor's device, unless a DeviceScope is open already.
  static DeviceScope beside(const Tensor& tensor);
};

// Ops made inside run after `before`, operations and tensors alike. ClearControlDependencies lifts those active.
class ControlDependencies : private ScopeGuard {
 public:
  explicit ControlDependencies(const std::vector<Operation>& before, const Location& where = Location::current());
  template <std::same_as<Tensor> T>  // a template, so that braces mean operations
  explicit ControlDependencies(const std::vector<T>& before, const Location& where = Location::current())
      : ControlDependencies(std::vector<Operation>(before.begin(), before.end()), where) {}
};
class ClearControlDependencies : private ScopeGuard {
 public:
  ClearControlDependencies();
};

// Marks ops as made for a replica; random ops of different replicas draw different numbers. Entered by TowerContext.
class ReplicaScope : private ScopeGuard {
 public:
  explicit ReplicaScope(int index);
  // The replica has its own variables, under this prefix ("": none).
  ReplicaScope(int index, std::string_view variable_prefix);
};

std::string current_name_scope();  // "" or "tower1/block"

}  // namespace belfry
#pragma GCC visibility pop
