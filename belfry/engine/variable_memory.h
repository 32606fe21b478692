// The values of variables that live on one kind of device, in that kind's memory; shared by a session and its
// companions. Arrays go in and come out plain, whatever the memory's layout.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "belfry/array/array.h"

namespace belfry {

struct Node;

class VariableMemory {
 public:
  VariableMemory() = default;
  virtual ~VariableMemory() = default;
  VariableMemory(const VariableMemory&) = delete;
  VariableMemory& operator=(const VariableMemory&) = delete;

  virtual Array get(const Node* variable) const = 0;  // throws if it has no value
  virtual void set(const Node* variable, const Array& value) = 0;
  // Whether it has a value. The flag's address does not change, so that a run looks nothing up.
  virtual bool& initialized(const Node* variable) = 0;
  virtual bool is_initialized(const Node* variable) const = 0;

  struct Bytes {
    std::size_t value = 0, copies = 0;
  };
  virtual Bytes bytes_of(const Node* variable) const = 0;
  virtual Bytes bytes() const = 0;  // of all

  // Called when several sessions use it from now on: no run may see half of another's update.
  virtual void share() = 0;
  virtual void changed(const Node* variable) = 0;  // by a run that was alone

  // If a plan would have to change a variable's layout while runs of other sessions are using it, it throws
  // VariablesAreInUse instead.
  struct VariablesAreInUse {};
  void set_in_use(bool in_use) { in_use_ = in_use; }

  // Grows whenever plans made before are out of date.
  std::uint64_t generation() const { return generation_; }
  void outdate_plans() { ++generation_; }

 protected:
  bool in_use() const { return in_use_; }

 private:
  std::atomic<std::uint64_t> generation_ = 0;
  bool in_use_ = false;  // needs no lock: one thread at a time compiles
};

}  // namespace belfry
