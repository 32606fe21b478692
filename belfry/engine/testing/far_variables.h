// The values of variables that live on the testing backend's devices.
#pragma once

#include <map>

#include "belfry/base/mutex.h"
#include "belfry/engine/testing/far_memory.h"
#include "belfry/engine/variable_memory.h"

namespace belfry {

class FarVariables final : public VariableMemory {
 public:
  Array get(const Node* variable) const override;
  void set(const Node* variable, const Array& value) override;
  bool& initialized(const Node* variable) override;
  bool is_initialized(const Node* variable) const override;
  Bytes bytes_of(const Node* variable) const override;
  Bytes bytes() const override;
  void share() override {}  // every access is locked in any case
  void changed(const Node* /*variable*/) override {}

  Mutex updating;  // held while a variable is read, computed with and written

 private:
  struct Value {
    FarArray data;
    bool initialized = false;
  };
  Value& value(const Node* variable) BELFRY_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::map<const Node*, Value> all_ BELFRY_GUARDED_BY(mutex_);  // an entry, once made, stays where it is
};

}  // namespace belfry
