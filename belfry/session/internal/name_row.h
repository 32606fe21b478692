// One row of a NameTable, ready to be used in both directions.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/session/internal/weight_rule.h"
#include "belfry/session/name_table.h"

namespace belfry {

// Names longer than this match no row: matching takes stack in proportion to the name.
inline constexpr std::size_t kLongestMatchedName = 512;

class NameTable::Row {
 public:
  Row(const NameRow& row, const std::string& place);
  ~Row();
  Row(const Row&) = delete;
  Row& operator=(const Row&) = delete;

  const NameRow& text() const { return text_; }
  // For errors: "row 2 ('conv(\d+)\.weight' -> 'conv$1/W')"
  const std::string& place() const { return place_; }
  std::string plain() const;  // their name without backslashes, to look for names near it
  const WeightRule& rule() const { return rule_; }
  bool drops() const { return targets_.empty(); }

  // The variables that a value of this name belongs to (none: it is dropped), or nullopt if the row does not match.
  std::optional<std::vector<std::string>> ours_of(const std::string& theirs) const;

  // Backwards: the name of the value that a variable is, or is part `index` of.
  struct Source {
    std::string theirs;
    std::size_t index = 0, targets = 1;
  };
  std::optional<Source> theirs_of(const std::string& ours) const;
  // Why theirs_of() cannot work; "" if it can.
  const std::string& one_way() const { return one_way_; }

 private:
  // A text that is made of names: plain, or what a group matched.
  struct Piece {
    std::string plain{};
    std::size_t group = 0;  // 0: plain
  };
  using Pieces = std::vector<Piece>;
  struct Expressions;

  Pieces template_of(std::string_view ours) const;
  void read_theirs();
  void read_group(std::size_t& at);
  void prepare_back(const Pieces& target);
  std::string expected(std::string_view what) const;

  NameRow text_;
  std::string place_;
  WeightRule rule_;
  std::vector<Pieces> targets_;
  Pieces theirs_;                                   // as far as it can be written
  std::vector<std::string> groups_;                 // their expressions, from group 1
  std::vector<std::vector<std::size_t>> captured_;  // for each target: which of its captures is each group
  std::string one_way_;
  std::unique_ptr<Expressions> expressions_;
};

}  // namespace belfry
