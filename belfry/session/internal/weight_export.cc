// Our weights as another program's.
#include <algorithm>
#include <optional>
#include <set>

#include "belfry/base/internal/nearest.h"
#include "belfry/base/internal/quotes.h"
#include "belfry/session/internal/array_axes.h"
#include "belfry/session/internal/name_row.h"
#include "belfry/session/internal/weight_mapping.h"
#include "belfry/session/internal/weight_problems.h"

namespace belfry {
namespace {

// The reverse of distributing a value among variables.
Array collected(std::vector<Array> parts, bool stack) {
  if (parts.size() == 1) return parts.front();
  for (Array& part : parts) {
    if (!stack) continue;
    Shape shape{1};
    for (const std::int64_t size : part.shape()) shape.push_back(size);
    part = part.reshaped(shape);
  }
  const Shape& first = parts.front().shape();
  for (int axis = 0; axis < (stack ? 1 : first.rank()); ++axis) {
    const auto fits = [&](const Array& part) {
      return part.dtype() == parts.front().dtype() && part.shape().rank() == first.rank() &&
             part.shape().without(axis) == first.without(axis);
    };
    if (std::ranges::all_of(parts, fits)) return joined(parts, axis);
  }
  std::string list;
  for (const Array& part : parts) list += (list.empty() ? "" : " and ") + to_string(part.shape());
  fail("expected variables that fit beside each other, got {}", list);
}

}  // namespace

class WeightMapping::Export {
 public:
  Export(const WeightMapping& mapping, const Arrays& ours) : mapping_(mapping), ours_(ours) {}

  Arrays run() {
    for (const auto& row : mapping_.names_.rows())
      if (!row->drops() && !row->one_way().empty())
        problems_.add("{}: cannot be reversed, because {}.", row->place(), row->one_way());
    for (const auto& [name, value] : ours_) place(name, value);
    note_unused_rows();
    Arrays out;
    for (auto& [theirs, whole] : wholes_) try {
        out.emplace(theirs, finished(whole));
      } catch (const Error& error) {
        problems_.add("{}: {}.", in_quotes(theirs), error.what());
      }
    problems_.throw_if_any(mapping_.caller_, "Nothing was written. Correct the table's rows.");
    return out;
  }

 private:
  // A value of theirs: made of one variable, or of several.
  struct Whole {
    const NameTable::Row* row = nullptr;
    WeightRule rule{};
    std::vector<std::optional<Array>> parts{};
    std::vector<std::string> names{};  // of the variables that have come
  };

  // The first row that leads to a variable decides. If it has only a part or a term of it, later rows have the others.
  void place(const std::string& name, const Array& value) {
    bool found = false;
    for (const auto& row : mapping_.names_.rows()) {
      const auto source = row->theirs_of(name);
      if (!source) continue;
      const WeightRule rule = rule_of(name, row.get());
      const bool is_shared = rule.part() || rule.is_sum();
      if (found && !is_shared) continue;
      used_.insert(row.get());
      if (leads_back(*row, *source, name)) give(name, value, row.get(), *source, rule, found);
      found = true;
      if (!is_shared) return;
    }
    if (!found) give(name, value, nullptr, {.theirs = name}, rule_of(name, nullptr), false);
  }

  WeightRule rule_of(const std::string& name, const NameTable::Row* row) {
    // Of several variables that share a value, the first one's layer decides.
    std::string decides = name;
    if (row != nullptr)
      if (const auto ours = row->ours_of(row->theirs_of(name)->theirs);
          ours && mapping_.variables_.contains((*ours)[0]))
        decides = (*ours)[0];
    try {
      return mapping_.rule_for(mapping_.variables_.at(decides), row);
    } catch (const Error& error) {
      problems_.add("{}: {}.", in_quotes(name), error.what());
      return {};
    }
  }

  // Whether reading the value under its new name gives this variable again.
  bool leads_back(const NameTable::Row& row, const NameTable::Row::Source& source, const std::string& name) {
    for (const auto& other : mapping_.names_.rows()) {
      const auto back = other->ours_of(source.theirs);
      if (!back) continue;
      if (other.get() == &row && back->at(source.index) == name) return true;
      problems_.add("{}: {} would be written as {}, which {} reads as {}.", row.place(), in_quotes(name),
                    in_quotes(source.theirs), other.get() == &row ? "it" : other->place(),
                    back->empty() ? "nothing" : in_quotes(back->front()));
      return false;
    }
    problems_.add("{}: {} would be written as {}, which it does not match.", row.place(), in_quotes(name),
                  in_quotes(source.theirs));
    return false;
  }

  void give(const std::string& name, const Array& value, const NameTable::Row* row,
            const NameTable::Row::Source& source, const WeightRule& rule, bool is_later_term) {
    Whole& whole = wholes_[source.theirs];
    if (whole.parts.empty()) whole = {row, rule, std::vector<std::optional<Array>>(source.targets), {}};
    if (whole.row != row || whole.parts[source.index]) {
      problems_.add("{} would be the name of both {} and {}.", in_quotes(source.theirs),
                    whole.names.empty() ? "another variable" : in_quotes(whole.names.front()), in_quotes(name));
      return;
    }
    whole.names.push_back(name);
    Array part = value;
    if (rule.part()) {
      const auto [index, count] = *rule.part();
      const std::int64_t width = value.shape().rank() == 0 ? 1 : value.shape()[-1];
      if (value.shape().rank() == 0 || width % count != 0) {
        problems_.add("{} {} does not divide into {} parts.", in_quotes(name), to_string(value.shape()), count);
        return;
      }
      part = divided(value, value.shape().rank() - 1, std::vector<std::int64_t>(count, width / count)).at(index);
    } else if (rule.is_sum() && is_later_term) {
      part = Array::zeros(value.dtype(), value.shape());
    }
    whole.parts[source.index] = part;
  }

  static Array finished(const Whole& whole) {
    std::vector<Array> parts;
    for (const std::optional<Array>& part : whole.parts) {
      BELFRY_CHECK(part.has_value(), "expected all {} variables of the row, got only {}", whole.parts.size(),
                   whole.names.empty() ? "none" : in_quotes(whole.names.front()));
      parts.push_back(*part);
    }
    BELFRY_CHECK(parts.size() > 1 || !whole.rule.is_stack(),
                 "expected a row for two variables, as in \"rnn/layer0/b & rnn/layer0/b_h\", got none");
    return whole.rule.to_theirs(collected(std::move(parts), whole.rule.is_stack()));
  }

  void note_unused_rows() {
    std::vector<std::string> names;
    for (const auto& [name, value] : ours_) names.push_back(name);
    for (const auto& row : mapping_.names_.rows())
      if (!used_.contains(row.get()) && !row->drops() && row->one_way().empty())
        problems_.add("{}: leads to none of the {} variables.{}", row->place(), names.size(),
                      did_you_mean(row->text().ours, names));
  }

  const WeightMapping& mapping_;
  const Arrays& ours_;
  std::set<const NameTable::Row*> used_;
  std::map<std::string, Whole> wholes_;  // by their names
  WeightProblems problems_;
};

WeightMapping::Arrays WeightMapping::to_theirs(const Arrays& ours) const { return Export(*this, ours).run(); }

}  // namespace belfry
