// The values of a session's variables, each in the layout that its main consumer wants; converted only when set, read
// or saved. Some have further copies in a second layout (backward-data convolutions), which every writer refreshes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "belfry/array/array.h"
#include "belfry/engine/kernel.h"

namespace belfry {

class VariableStore {
 public:
  struct Copy {
    Layout layout;
    std::shared_ptr<void> data;
  };
  struct Storage {
    TensorInfo info;
    std::shared_ptr<void> data;
    bool initialized = false;
    enum class Decided { no, softly, firmly } decided = Decided::no;
    std::vector<Copy> copies;
  };

  Storage& storage(const Node* variable);
  const Storage* find(const Node* variable) const;

  // Chooses the layout the first time; a plan that trains the variable may still change what one that did not chose.
  void decide_layout(const Node* variable, const Layout& layout, bool trains);
  // A second copy in this layout, made now if there is none.
  const Copy& copy_in(const Node* variable, const Layout& layout);

  Array get(const Node* variable) const;
  void set(const Node* variable, const Array& value);

  // Grows whenever a layout or a copy was added: plans made before are out of date.
  std::uint64_t generation() const { return generation_; }
  void outdate_plans() { ++generation_; }  // for a reason of the session's

 private:
  std::map<const Node*, Storage> all_;
  std::uint64_t generation_ = 0;
};

// Converts between layouts of one logical tensor, on the calling thread's team.
void reorder(const TensorInfo& from, const void* source, const TensorInfo& to, void* destination);

}  // namespace belfry
