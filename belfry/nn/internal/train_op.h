// The operation that an optimizer's apply_gradients() returns, and the name scope of the ops before it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/graph/scope.h"

namespace belfry {

class TrainOpScope {
 public:
  // Opens a name scope: `wanted` or, if that is empty, the default, made unique.
  TrainOpScope(std::string_view wanted, std::string_view default_name);
  // Closes it. The operation gets its name: a wanted name must be free, the default is made unique together with its
  // scope.
  Operation group(const std::vector<Operation>& updates, const Location& where);

 private:
  std::string wanted_;
  std::unique_ptr<NameScope> scope_;
};

}  // namespace belfry
