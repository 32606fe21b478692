// Which op a node is: a name that was looked up once. Two kinds are equal if their names are, and comparing them
// compares two pointers. Code that asks for an op names its kind as a constant of the file:
//
//   const OpKind kAdd = op_kind("Add");
//   if (node.op == kAdd) ...
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace belfry {

struct OpDef;

class OpKind {
 public:
  OpKind() = default;  // of no op: its name is ""
  const std::string& name() const { return record_->name; }
  // The declaration of an op of the graph or of a kind that only the engine makes. A kind without one (a fused op) has
  // none of the properties.
  const OpDef& definition() const {
    const OpDef* def = record_->def.load(std::memory_order_acquire);
    return def != nullptr ? *def : undeclared();
  }
  bool operator==(const OpKind&) const = default;
  // In order of creation, not by name: for tables that are only looked up.
  bool operator<(const OpKind& other) const { return record_->number < other.record_->number; }

 private:
  struct Record {
    std::string name{};
    int number = 0;
    mutable std::atomic<const OpDef*> def = nullptr;
  };
  friend OpKind op_kind(std::string_view name);
  friend struct std::hash<OpKind>;
  friend class OpDefinition;
  explicit OpKind(const Record* record) : record_(record) {}
  static const Record* none();
  static const OpDef& undeclared();
  bool declare(const OpDef* def) const;  // false if it is declared already

  const Record* record_ = none();  // one per name, for as long as the program runs
};

// The kind of that name, whether or not such an op is defined. Any thread may call it at any time, before main() too.
OpKind op_kind(std::string_view name);

}  // namespace belfry
#pragma GCC visibility pop

template <>
struct std::hash<belfry::OpKind> {
  std::size_t operator()(const belfry::OpKind& kind) const { return std::hash<const void*>()(kind.record_); }
};
