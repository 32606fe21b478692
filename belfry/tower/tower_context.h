// TowerContext: says that one replica of the model is being built. Entered by the caller of a tower function (a
// trainer, a predictor, or the user's code); read by layers through get_current_tower_context().
//
//   { TrainTowerContext tower("tower1", {.index = 1, .total = 2});  cost = build(inputs); }
//   { PredictTowerContext tower("predict");  build(inputs); }
//
// While it lives: ops are named under the tower's name scope; variables are made, or found, under its variable scope;
// random ops draw numbers that differ from other towers'. When it ends, the collections forget what must not stay after
// this tower:
//
//   main training tower    nothing is forgotten
//   other training towers  SUMMARIES, MOVING_SUMMARIES; their new variables become LOCAL_VARIABLES only
//   prediction towers      every tensor and operation; under reuse, new variables become LOCAL_VARIABLES only
//
// If an exception leaves a tower, everything that was defined in it is removed again (unless a session has run some of
// it), so that the attempt can simply be repeated.
//
// A thread has at most one: contexts do not nest.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/graph/variable.h"
#include "belfry/graph/variable_scope.h"

#pragma GCC visibility push(default)
namespace belfry {

struct TowerOptions {
  int index = 0;  // 0 is the main one
  int total = 1;
  // Prefix of the tower's own variables; "" shares those without a prefix.
  std::string variable_scope{};
  // Each tower makes its steps in separate runs, as with an asynchronous trainer: no tower can wait for another.
  bool own_runs = false;
  // Default: training towers after the first find variables, unless they have a separate variable scope; prediction
  // towers find them if the graph has anything trainable, otherwise make them.
  std::optional<Reuse> reuse{};
};

class TowerContext {
 public:
  // `name` becomes the name scope, exactly; "" keeps the current one.
  TowerContext(std::string_view name, bool is_training, TowerOptions options = {},
               const Location& where = Location::current());
  ~TowerContext();
  TowerContext(const TowerContext&) = delete;
  TowerContext& operator=(const TowerContext&) = delete;

  const std::string& name() const;
  int index() const;
  int total() const;
  bool is_training() const;
  bool is_main_training_tower() const;
  bool has_own_runs() const;                  // its steps are separate from those of the other towers
  bool has_own_variables() const;             // makes variables instead of finding those of another tower
  const std::string& variable_scope() const;  // "" or the prefix of its own variables
  const std::string& name_scope() const;      // "" or "tower1"

  // What get_variable() made or found in this tower so far, in order of first use; then what new_variable() made.
  std::vector<Variable> variables() const;
  std::vector<Variable> trainable_variables() const;
  // What this tower has added to a collection so far.
  std::vector<Tensor> collected_tensors(std::string_view collection) const;
  std::vector<Operation> collected_operations(std::string_view collection) const;

  struct Impl;

 private:
  std::vector<Variable> used_variables() const;
  std::unique_ptr<Impl> impl_;
};

class TrainTowerContext : public TowerContext {
 public:
  explicit TrainTowerContext(std::string_view name, TowerOptions options = {},
                             const Location& where = Location::current())
      : TowerContext(name, true, std::move(options), where) {}
};

class PredictTowerContext : public TowerContext {
 public:
  explicit PredictTowerContext(std::string_view name, TowerOptions options = {},
                               const Location& where = Location::current())
      : TowerContext(name, false, std::move(options), where) {}
};

// Sets the open tower aside while something else is built, in another graph.
class TowerPause {
 public:
  TowerPause();
  ~TowerPause();
  TowerPause(const TowerPause&) = delete;
  TowerPause& operator=(const TowerPause&) = delete;

 private:
  TowerContext* open_ = nullptr;
};

// The tower being built on this thread; throws if there is none.
TowerContext& get_current_tower_context();
TowerContext* current_tower_context_or_null();

}  // namespace belfry
#pragma GCC visibility pop
