// The values of a session's variables, each in the layout that its main consumer wants; converted only when set, read
// or saved. Some have further copies in a second layout (backward-data convolutions), which every writer refreshes.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "belfry/array/array.h"
#include "belfry/base/mutex.h"
#include "belfry/engine/cpu/kernel/kernel.h"
#include "belfry/engine/variable_memory.h"

namespace belfry {

class VariableStore final : public VariableMemory {
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
    // If several sessions share the store: held while the data are read or written, so that no reader sees half of an
    // update; a greater version means new data.
    mutable Mutex mutex;
    std::uint64_t version = 1;
  };

  Storage& storage(const Node* variable);
  const Storage* find(const Node* variable) const;

  // Chooses the layout the first time; a plan that trains the variable may still change the choice of one that did not.
  void decide_layout(const Node* variable, const Layout& layout, bool trains);
  // Makes a second copy in this layout, unless there is one.
  void make_copy(const Node* variable, const Layout& layout);
  // The value, or that copy of it, which has this layout.
  void* data_in(const Node* variable, const Layout& layout);

  Array get(const Node* variable) const override;
  void set(const Node* variable, const Array& value) override;
  bool& initialized(const Node* variable) override { return storage(variable).initialized; }
  bool is_initialized(const Node* variable) const override;

  // From then on there are no second copies, since updating them would take more than one instruction. Runs read their
  // session's snapshots and write under the variable's mutex (see shared_variables.h).
  void share() override;
  bool shared() const { return shared_; }

  Bytes bytes_of(const Node* variable) const override;
  Bytes bytes() const override;
  void changed(const Node* variable) override;

 private:
  static Bytes bytes_of(const Storage& storage);

  mutable Mutex mutex_;
  std::unordered_map<const Node*, Storage> all_ BELFRY_GUARDED_BY(mutex_);  // an entry, once made, stays where it is
  bool shared_ = false;
};

// Converts between layouts of one logical tensor, on the calling thread's team.
void reorder(const TensorInfo& from, const void* source, const TensorInfo& to, void* destination);

}  // namespace belfry
