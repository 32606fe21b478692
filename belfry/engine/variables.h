// The values of a graph's variables: each lives on the kind of device that it was made for, or on the kind of the
// session's first device. Shared by a session and its companions.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "belfry/engine/variable_memory.h"
#include "belfry/graph/node.h"

namespace belfry {

class Variables {
 public:
  // `first_kind` is the kind of a session's first device.
  explicit Variables(std::string first_kind) : first_kind_(std::move(first_kind)) {}

  const std::string& kind_of(const Node* variable) const {
    return variable->device.empty() ? first_kind_ : variable->device.kind();
  }
  const std::string& first_kind() const { return first_kind_; }
  // Made on first use.
  VariableMemory& on(const std::string& kind);
  VariableMemory& of(const Node* variable) { return on(kind_of(variable)); }

  Array get(const Node* variable) const;
  void set(const Node* variable, const Array& value) { of(variable).set(variable, value); }
  bool is_initialized(const Node* variable) const;
  VariableMemory::Bytes bytes_of(const Node* variable) const;
  VariableMemory::Bytes bytes() const;
  void share();
  void outdate_plans();
  std::uint64_t generation() const;  // of all kinds

  // While it exists, plans may not change the layouts of variables.
  class InUse {
   public:
    explicit InUse(Variables& variables) : variables_(variables) { variables_.set_in_use(true); }
    ~InUse() { variables_.set_in_use(false); }
    InUse(const InUse&) = delete;
    InUse& operator=(const InUse&) = delete;

   private:
    Variables& variables_;
  };

 private:
  const VariableMemory* find(const Node* variable) const;
  void set_in_use(bool in_use);

  std::string first_kind_;
  std::map<std::string, std::unique_ptr<VariableMemory>> kinds_;
  bool shared_ = false;
};

}  // namespace belfry
