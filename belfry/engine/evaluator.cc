#include "belfry/engine/evaluator.h"

#include "belfry/base/check.h"

namespace belfry {
namespace {

// Set while the program's static objects are constructed, read afterwards.
std::unique_ptr<const Evaluator>& registered() {
  static std::unique_ptr<const Evaluator> instance;
  return instance;
}

}  // namespace

const Evaluator& evaluator() {
  BELFRY_BUG_IF(registered() == nullptr, "no evaluator is registered: link one with the engine");
  return *registered();
}

EvaluatorRegistration register_evaluator(std::unique_ptr<const Evaluator> evaluator) {
  BELFRY_BUG_IF(registered() != nullptr, "two evaluators are registered");
  registered() = std::move(evaluator);
  return registered().get();
}

}  // namespace belfry
