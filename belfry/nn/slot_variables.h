// Variables that keep what the next update needs: made once, placed and saved like the variable that they belong to.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "belfry/graph/variable.h"

#pragma GCC visibility push(default)
namespace belfry {

class SlotVariables {
 public:
  // The one of this full name that belongs to `owner`, made at the first call; not trainable. Zero at first, unless an
  // initialiser is given.
  Variable get(const Variable& owner, const std::string& full_name, const Shape& shape, DType dtype,
               const Initializer& initializer = {});
  // "<owner>/<name>" with the owner's shape and type; zero at first, or what the owner is initialised to.
  Variable like(const Variable& owner, const std::string& name);
  Variable copy_of(const Variable& owner, const std::string& name);

 private:
  std::map<std::pair<const Node*, std::string>, Variable> made_;
};

}  // namespace belfry
#pragma GCC visibility pop
