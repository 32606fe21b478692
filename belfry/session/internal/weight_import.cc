// Another program's weights as ours.
#include <algorithm>
#include <set>

#include "belfry/array/internal/dispatch.h"
#include "belfry/base/internal/nearest.h"
#include "belfry/base/internal/quotes.h"
#include "belfry/session/internal/array_axes.h"
#include "belfry/session/internal/name_row.h"
#include "belfry/session/internal/weight_mapping.h"
#include "belfry/session/internal/weight_problems.h"

namespace belfry {
namespace {

std::string type_of(const Array& a) { return fmt::format("{} {}", name_of(a.dtype()), to_string(a.shape())); }

// The last axis shared by `count` parts.
Shape part_of(const Shape& whole, std::int64_t count) {
  Shape out = whole;
  BELFRY_CHECK(out.rank() > 0 && out[-1] % count == 0, "expected a variable whose last axis has {} parts, got {}",
               count, to_string(whole));
  out.set(-1, out[-1] / count);
  return out;
}

// One value for several variables, along the first axis that fits all of them; with `stack`, one entry of the first
// axis for each.
std::vector<Array> distributed(const Array& whole, const std::vector<Shape>& shapes, bool stack) {
  if (stack) {
    BELFRY_CHECK(whole.shape().rank() > 0 && whole.shape()[0] == std::ssize(shapes),
                 "expected {} entries along the first axis, got {}", shapes.size(), to_string(whole.shape()));
    std::vector<Array> out = divided(whole, 0, std::vector<std::int64_t>(shapes.size(), 1));
    for (Array& part : out) part = part.reshaped(part.shape().without(0));
    return out;
  }
  for (int axis = 0; axis < whole.shape().rank(); ++axis) {
    std::vector<std::int64_t> sizes;
    std::int64_t sum = 0;
    for (const Shape& shape : shapes) {
      if (shape.rank() != whole.shape().rank() || shape.without(axis) != whole.shape().without(axis)) break;
      sizes.push_back(shape[axis]);
      sum += shape[axis];
    }
    if (sizes.size() == shapes.size() && sum == whole.shape()[axis]) return divided(whole, axis, sizes);
  }
  std::string list;
  for (const Shape& shape : shapes) list += (list.empty() ? "" : " and ") + to_string(shape);
  fail("expected a value that {} make up, got {}", list, to_string(whole.shape()));
}

Array sum_of(const std::vector<Array>& terms) {
  Array out = terms.front().clone();
  for (std::size_t i = 1; i < terms.size(); ++i) {
    BELFRY_CHECK(is_float(out.dtype()) && type_of(terms[i]) == type_of(out),
                 "expected floats of one shape to add, got {} and {}", type_of(out), type_of(terms[i]));
    dispatch_float(out.dtype(), [&]<class T>() {
      std::ranges::transform(out.values<T>(), terms[i].values<T>(), out.values<T>().begin(), std::plus<>());
    });
  }
  return out;
}

}  // namespace

class WeightMapping::Import {
 public:
  Import(const WeightMapping& mapping, const Arrays& theirs, const ImportOptions& options)
      : mapping_(mapping), theirs_(theirs), options_(options) {}

  Arrays run() {
    for (const auto& [name, value] : theirs_) place(name, value);
    note_unused_rows();
    Arrays out;
    for (auto& [name, terms] : terms_) try {
        out.emplace(name, combined(name, terms));
      } catch (const Error& error) {
        problems_.add("{}: {}", in_quotes(name), error.what());
      }
    problems_.throw_if_any(mapping_.caller_, "Nothing was changed. Correct the table's rows.");
    return out;
  }

 private:
  struct Term {
    std::string theirs;
    const NameTable::Row* row;
    WeightRule rule;
    Array value;
  };

  void place(const std::string& name, const Array& value) {
    for (const auto& row : mapping_.names_.rows()) {
      const auto ours = row->ours_of(name);
      if (!ours) continue;
      used_.insert(row.get());
      if (!row->drops()) give(name, value, row.get(), *ours);
      return;
    }
    give(name, value, nullptr, {name});
  }

  void give(const std::string& name, const Array& value, const NameTable::Row* row,
            const std::vector<std::string>& ours) {
    std::vector<Shape> shapes;
    bool is_used = true;
    for (const std::string& target : ours) {
      const auto at = mapping_.variables_.find(target);
      const bool is_there = at != mapping_.variables_.end();
      if (!is_there && row != nullptr)
        problems_.add("{}: {} becomes {}, which is no variable.{}", row->place(), in_quotes(name), in_quotes(target),
                      did_you_mean(target, mapping_.variable_names()));
      is_used = is_used && is_there && !(options_.is_ignored && options_.is_ignored(target));
      if (is_there) shapes.push_back(at->second.shape());
    }
    if (!is_used) {
      if (row == nullptr || shapes.size() == ours.size())
        for (const std::string& target : ours) terms_[target].push_back({name, row, {}, value});
      return;
    }
    try {
      convert(name, value, row, ours, shapes);
    } catch (const Error& error) {
      problems_.add("{}{} {} for {}: {}.", row == nullptr ? "" : row->place() + ": ", in_quotes(name), type_of(value),
                    in_quotes(ours.front()), error.what());
    }
  }

  void convert(const std::string& name, const Array& value, const NameTable::Row* row,
               const std::vector<std::string>& ours, const std::vector<Shape>& shapes) {
    const WeightRule rule = mapping_.rule_for(mapping_.variables_.at(ours.front()), row);
    std::vector<Array> values;
    if (ours.size() > 1) {
      values = distributed(rule.to_ours(value, std::nullopt), shapes, rule.is_stack());
    } else {
      BELFRY_CHECK(!rule.is_stack(),
                   "expected two variables, as in \"rnn/layer0/b & rnn/layer0/b_h\", for the biases "
                   "[2, 3 * units] of a GRU (in Keras, reset_after=True), got one");
      const Shape wanted = rule.part() ? part_of(shapes[0], rule.part()->count) : shapes[0];
      values.push_back(rule.to_ours(value, wanted));
    }
    for (std::size_t i = 0; i < ours.size(); ++i) {
      const Shape wanted = rule.part() ? part_of(shapes[i], rule.part()->count) : shapes[i];
      BELFRY_CHECK(rule.is_empty() || options_.skip_mismatched || values[i].shape() == wanted,
                   "expected {}, got {} by the rule \"{}\"", to_string(wanted), to_string(values[i].shape()),
                   rule.text());
      terms_[ours[i]].push_back({name, row, rule, values[i]});
    }
  }

  static Array combined(const std::string& name, std::vector<Term>& terms) {
    if (const auto& part = terms.front().rule.part()) return parts_joined(name, terms, part->count);
    if (terms.size() == 1) return terms.front().value;
    std::vector<Array> values;
    std::string list;
    bool sum = true;
    for (const Term& term : terms) {
      sum = sum && term.rule.is_sum();
      list += fmt::format("{}{}{}", list.empty() ? "" : " and ", in_quotes(term.theirs),
                          term.row == nullptr ? "" : fmt::format(" ({})", term.row->place()));
      values.push_back(term.value);
    }
    BELFRY_CHECK(sum, "expected one value, got {}", list);
    return sum_of(values);
  }

  static Array parts_joined(const std::string& name, const std::vector<Term>& terms, std::int64_t count) {
    std::vector<Array> parts(static_cast<std::size_t>(count));
    std::set<std::int64_t> given;
    for (const Term& term : terms) {
      const auto& part = term.rule.part();
      BELFRY_CHECK(part && part->count == count && given.insert(part->index).second,
                   "expected {} different parts, got {} beside others", count,
                   part ? fmt::format("part {}/{} ({})", part->index, part->count, in_quotes(term.theirs))
                        : fmt::format("the whole ({})", in_quotes(term.theirs)));
      parts[static_cast<std::size_t>(part->index)] = term.value;
    }
    BELFRY_CHECK(std::ssize(given) == count, "expected {} parts for {}, got only {}", count, in_quotes(name),
                 given.size());
    for (const Array& part : parts)
      BELFRY_CHECK(type_of(part) == type_of(parts.front()), "expected parts of one type and shape, got {} and {}",
                   type_of(parts.front()), type_of(part));
    return joined(parts, parts.front().shape().rank() - 1);
  }

  void note_unused_rows() {
    std::vector<std::string> names;
    for (const auto& [name, value] : theirs_) names.push_back(name);
    for (const auto& row : mapping_.names_.rows())
      if (!used_.contains(row.get()))
        problems_.add("{}: matches none of the {} values.{}", row->place(), names.size(),
                      did_you_mean(row->plain(), names));
  }

  const WeightMapping& mapping_;
  const Arrays& theirs_;
  const ImportOptions& options_;
  std::set<const NameTable::Row*> used_;
  std::map<std::string, std::vector<Term>> terms_;  // by the names of variables
  WeightProblems problems_;
};

WeightMapping::Arrays WeightMapping::to_ours(const Arrays& theirs, const ImportOptions& options) const {
  return Import(*this, theirs, options).run();
}

}  // namespace belfry
